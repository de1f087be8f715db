package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	w := must(os.ReadFile(os.Args[1]))
	exports := strings.Split(os.Args[2], ",")
	mode := os.Args[3:]
	m := must(scan.Scan(w, scan.Limits{}))
	calls := map[string]map[string]func() uint64{}
	for _, md := range mode {
		code := w
		cfg := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2)
		switch md {
		case "engine":
			code = must(rewrite.Interruptible(w, m, rewrite.Options{MemoryMaxPages: 1024, TableMax: 100000}))
			cfg = cfg.WithCloseOnContextDone(true)
		case "fuel":
			t := time.Now()
			out := must(rewrite.Fuel(w, m, rewrite.Options{MemoryMaxPages: 1024, TableMax: 100000, Stack: 16 << 20}))
			code = out.Code
			fmt.Println("rewrite", time.Since(t), len(w), len(code))
		}
		r := wazero.NewRuntimeWithConfig(ctx, cfg)
		wasi_snapshot_preview1.MustInstantiate(ctx, r)
		i64 := []api.ValueType{api.ValueTypeI64}
		ticks := 0
		must(r.NewHostModuleBuilder("taskq_rt").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, s []uint64) {
			g := rewrite.Gauge(s[0])
			if g.Overflowed() {
				panic("overflow")
			}
			ticks++
			s[0] = uint64(g.Refuelled(1<<18 - g.Fuel()))
		}), i64, i64).Export("tick").Instantiate(ctx))
		t := time.Now()
		c := must(r.CompileModule(ctx, code))
		fmt.Println(md, "compile", time.Since(t), len(code))
		in := must(r.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")))
		calls[md] = map[string]func() uint64{}
		for _, e := range exports {
			f := in.ExportedFunction(e)
			cctx, _ := context.WithCancel(ctx)
			calls[md][e] = func() uint64 {
				ticks = 0
				return must(f.Call(cctx))[0] + uint64(ticks)<<32
			}
		}
	}
	for _, e := range exports {
		times := map[string][]time.Duration{}
		ticks := map[string]uint64{}
		for i := 0; i < 15; i++ {
			for _, md := range mode {
				t := time.Now()
				ticks[md] = calls[md][e]() >> 32
				times[md] = append(times[md], time.Since(t))
			}
		}
		for _, md := range mode {
			sort.Slice(times[md], func(i, j int) bool { return times[md][i] < times[md][j] })
			fmt.Println(e, md, "min", times[md][0], "med", times[md][7], fmt.Sprintf("ratio %.2f (min %.2f)", float64(times[md][7])/float64(times[mode[0]][7]), float64(times[md][0])/float64(times[mode[0]][0])), "ticks", ticks[md])
		}
	}
}
