package rewrite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

var errOverflow = errors.New("stack overflow")

var errSpent = errors.New("out of fuel")

// meter is a tick for tests: it grants the same slice each time.
type meter struct {
	slice int64
	limit int64 // 0: none
	spent int64
	ticks int
}

func (t *meter) Call(_ context.Context, _ api.Module, stack []uint64) {
	g := rewrite.Gauge(stack[0])
	t.ticks++
	if g.Overflowed() {
		panic(errOverflow)
	}
	grant := t.slice - g.Fuel()
	if t.limit > 0 {
		if t.spent-g.Fuel() > t.limit {
			panic(errSpent)
		}
		grant = min(grant, t.limit-t.spent)
	}
	t.spent += grant
	stack[0] = uint64(g.Refuelled(grant))
}

// provide offers the tick to metered modules.
func (t *meter) provide(tb testing.TB, engine wazero.Runtime) {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := engine.NewHostModuleBuilder(rewrite.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(t, i64, i64).Export(rewrite.TickName).Instantiate(tb.Context())
	require.NoError(tb, err)
}

// used is the fuel that a module's instance has used, all instances together.
func (t *meter) used(instance api.Module) int64 {
	return t.spent - rewrite.Gauge(instance.ExportedGlobal(rewrite.GaugeExport).Get()).Fuel()
}

// roomy lets everything through that the specification's suite uses.
var roomy = rewrite.Options{MemoryMaxPages: 65_536, TableMax: 1<<32 - 1, Stack: 1 << 20}

// metered scans and meters, and scans what came out of it.
func metered(t testing.TB, wasm []byte, limits scan.Limits, o rewrite.Options) (*rewrite.Metered, *scan.Module) {
	t.Helper()
	m, err := scan.Scan(wasm, limits)
	require.NoError(t, err)
	out, err := rewrite.Fuel(wasm, m, o)
	require.NoError(t, err)
	return out, m
}

// side is one of the two engines that a script runs in.
type side struct {
	meter   *meter // nil: the module runs as it is
	engine  wazero.Runtime
	last    api.Module
	modules map[string]api.Module
	gauges  map[api.Module]uint64 // as they began
}

func newSide(t testing.TB, m *meter) *side {
	t.Helper()
	s := &side{meter: m, modules: make(map[string]api.Module), gauges: make(map[api.Module]uint64)}
	s.engine = wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { require.NoError(t, s.engine.Close(context.Background())) })
	if m != nil {
		m.provide(t, s.engine)
	}
	return s
}

// instantiate makes an instance, its start function called; it gives what went
// wrong, in a form that both sides share.
func (s *side) instantiate(t testing.TB, wasm []byte, name string) string {
	t.Helper()
	start := false
	if s.meter != nil {
		out, _ := metered(t, wasm, specLimits, roomy)
		wasm, start = out.Code, out.Start
	}
	instance, err := s.engine.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
	if err != nil {
		return reason(err)
	}
	if start {
		if _, err := instance.ExportedFunction(rewrite.StartExport).Call(t.Context()); err != nil {
			require.NoError(t, instance.Close(context.Background()))
			return reason(err)
		}
	}
	s.last = instance
	if s.meter != nil {
		s.gauges[instance] = instance.ExportedGlobal(rewrite.GaugeExport).Get()
	}
	return ""
}

// unwound gives the instances back the room that calls didn't return.
func (s *side) unwound() {
	for instance, gauge := range s.gauges {
		instance.ExportedGlobal(rewrite.GaugeExport).(api.MutableGlobal).Set(gauge)
	}
}

func reason(err error) string {
	if errors.Is(err, errOverflow) {
		return errOverflow.Error()
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "start function[") // of the original's instantiation
	if i := strings.Index(line, "wasm error: "); i >= 0 {
		line = line[i+len("wasm error: "):]
	}
	return line
}

type scriptValue struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

func (v scriptValue) bits(t testing.TB) []uint64 {
	number := func(text any, width int) uint64 {
		s := text.(string)
		if strings.HasPrefix(s, "-") {
			n, err := strconv.ParseInt(s, 10, 64)
			require.NoError(t, err)
			return uint64(n) & (1<<width - 1)
		}
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	switch v.Type {
	case "v128":
		width, err := strconv.Atoi(v.LaneType[1:])
		require.NoError(t, err)
		var out [2]uint64
		for i, lane := range v.Value.([]any) {
			at := i * width
			out[at/64] |= number(lane, width) << (at % 64)
		}
		return out[:]
	case "externref":
		if v.Value == nil || v.Value == "null" {
			return []uint64{0}
		}
		return []uint64{number(v.Value, 64) + 1}
	case "funcref":
		return []uint64{0}
	case "i32", "f32":
		return []uint64{number(v.Value, 32)}
	}
	return []uint64{number(v.Value, 64)}
}

type scriptCommand struct {
	Type, Name, Filename, As string
	Line                     int
	Action                   struct {
		Type, Field, Module string
		Args                []scriptValue
	}
}

// act does what a command says and gives what came of it.
func (s *side) act(t testing.TB, c *scriptCommand) string {
	instance := s.last
	if c.Action.Module != "" {
		instance = s.modules[c.Action.Module]
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(instance.ExportedGlobal(c.Action.Field).Get())
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.bits(t)...)
	}
	function := instance.ExportedFunction(c.Action.Field)
	results, err := function.Call(t.Context(), args...)
	if err != nil {
		s.unwound()
		return reason(err)
	}
	return printed(function, results)
}

// printed hides what references are: addresses of the engine's.
func printed(f api.Function, results []uint64) string {
	i := 0
	for _, kind := range f.Definition().ResultTypes() {
		if scan.ValType(kind) == scan.FuncRef && results[i] != 0 {
			results[i] = 1
		}
		if i++; scan.ValType(kind) == scan.V128 {
			i++
		}
	}
	return fmt.Sprint(results)
}

// TestTheSpecificationsSuiteGivesTheSameMetered runs every script of the suite
// twice, as it is and metered, with so little fuel at a time that every few
// instructions tick.
func TestTheSpecificationsSuiteGivesTheSameMetered(t *testing.T) {
	t.Parallel()
	scripts, _ := filepath.Glob(filepath.Join(specDir(), "*.json"))
	if len(scripts) == 0 {
		t.Skip("the engine's module came without its test suite")
	}
	actions := 0
	for _, path := range scripts {
		actions += runScript(t, path)
	}
	require.Greater(t, actions, 40_000)
}

func runScript(t *testing.T, path string) (actions int) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var script struct{ Commands []scriptCommand }
	require.NoError(t, json.Unmarshal(text, &script))
	sides := []*side{newSide(t, nil), newSide(t, &meter{slice: 37})}
	spectest, err := os.ReadFile(filepath.Join(filepath.Dir(path), "../../testdata/spectest.wasm"))
	require.NoError(t, err)
	for _, s := range sides {
		_, err := s.engine.InstantiateWithConfig(t.Context(), spectest, wazero.NewModuleConfig())
		require.NoError(t, err)
	}
	both := func(c *scriptCommand, do func(s *side) string) {
		want := do(sides[0])
		require.Equal(t, want, do(sides[1]), "%s:%d", filepath.Base(path), c.Line)
		actions++
	}
	for i := range script.Commands {
		c := &script.Commands[i]
		switch c.Type {
		case "module", "assert_uninstantiable", "assert_unlinkable":
			if !strings.HasSuffix(c.Filename, ".wasm") {
				continue
			}
			wasm, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
			require.NoError(t, err)
			name := ""
			if next := i + 1; next < len(script.Commands) && script.Commands[next].Type == "register" {
				name = script.Commands[next].As
			}
			both(c, func(s *side) string {
				why := s.instantiate(t, wasm, name)
				if why != "" && c.Type == "assert_unlinkable" {
					why = "unlinkable" // for a maximum that the rewrite may have set
				}
				if why == "" && c.Name != "" {
					s.modules[c.Name] = s.last
				}
				return why
			})
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			both(c, func(s *side) string { return s.act(t, c) })
		}
	}
	return actions
}
