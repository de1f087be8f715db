package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
)

// smallModule answers its settings.
const smallModule = "ladder/small_module"

// ladders measures what one decision costs: the globs and both built-in
// classifiers, and the same with one warm module in front, whose answers
// aren't remembered.
func (b *bench) ladders(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "taskq-bench-ladder-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, err := host.New(host.Options{CacheDir: dir, Compile: host.CompileOptions{InProcess: true}})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	var native classify.Chain
	for _, name := range []string{classify.FailureTaxonomy, classify.RateLimitAware} {
		c, err := classify.Builtin(name, nil)
		if err != nil {
			return err
		}
		native = append(native, c)
	}
	if err := b.ladder(ctx, "ladder/native", native, 200_000); err != nil {
		return err
	}
	for _, module := range []struct {
		name, file string
		n          int
	}{
		{smallModule, filepath.Join("testdata", "wasm", "classify.wasm"), 5_000},
		{"ladder/c_module", filepath.Join("plugins", "c-taxonomy", "actor.wasm"), 5_000},
		{"ladder/go_module", filepath.Join("bin", "classifiers", "go-rate-limit.wasm"), 50}, // its runtime starts each time
	} {
		wasm, err := os.ReadFile(filepath.Join(b.root, module.file))
		if os.IsNotExist(err) {
			continue // it needs `make wasm`
		}
		if err != nil {
			return err
		}
		m, err := e.Load(ctx, wasm)
		if err != nil {
			return fmt.Errorf("%s: %w", module.file, err)
		}
		var settings json.RawMessage
		if module.name == smallModule {
			settings = json.RawMessage(`{"delay_ms":120000,"kind":"transient"}`)
		}
		c := classifier.New("module", classifier.Found(m), settings)
		c.Timeout = time.Minute // what it costs, not whether it is in time
		if err := b.ladder(ctx, module.name, append(classify.Chain{c}, native...), module.n); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) ladder(ctx context.Context, name string, chain classify.Chain, n int) error {
	broken := 0
	l := classify.Ladder{
		Settings: retry.DefaultSettings(), Chain: chain, Broken: func(string, classify.Breakage) { broken++ },
		Rules: classify.Rules{
			NonRetryable: []string{"*.ValidationException", "stripe.CardDeclined"},
			Permanent:    []string{"*.AuthError", "java.lang.*"}, Retryable: []string{"TIMEOUT", "java.net.*"},
		},
	}
	in := classify.Input{
		Ending: classify.Failed, Policy: retry.Default(), Attempt: 1, OccurredAt: time.Now(), Random: 1 << 63,
		Failure: &abi.Failure{
			Class: "acme.PartnerError", Ancestors: []string{"acme.HttpError", "error"}, Message: "slow down",
			HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"retry-after": "120"}},
		},
	}
	var wall, cpu []float64
	for range b.runs + 1 {
		began, used := time.Now(), selfCPU()
		for range n {
			if d := l.Decide(ctx, in); !d.Reschedules() {
				return fmt.Errorf("%s: it decided %s", name, d.Action)
			}
		}
		wall = append(wall, float64(time.Since(began).Nanoseconds())/float64(n)/1000)
		cpu = append(cpu, float64((selfCPU()-used).Nanoseconds())/float64(n)/1000)
	}
	if broken > 0 {
		return fmt.Errorf("%s: it was broken %d times", name, broken)
	}
	b.report.runs(name, "µs/decision", wall[1:]) // the first one warms up
	b.report.runs("cpu/"+name, "µs/decision", cpu[1:])
	return nil
}
