package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// metering runs the same exports of the guest in Go three ways on the bare
// engine, in turns: as they are, with the engine's own interruption (and what
// it needs to be one), and metered.
func (b *bench) metering(ctx context.Context) error {
	modes := []string{"plain", "engine", "fuel"}
	instances := make(map[string]api.Module)
	for _, mode := range modes {
		instance, err := b.instance(ctx, mode)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		instances[mode] = instance
	}
	for _, workload := range []string{"sha256", "json", "calls", "loop"} {
		times := make(map[string][]time.Duration)
		for range 21 {
			for _, mode := range modes {
				cancellable, cancel := context.WithCancel(ctx) // else the engine doesn't look at all
				began := time.Now()
				_, err := instances[mode].ExportedFunction(workload).Call(cancellable)
				times[mode] = append(times[mode], time.Since(began))
				cancel()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", workload, mode, err)
				}
			}
		}
		for _, mode := range modes {
			b.add("metering/"+workload+"/"+mode, percentile(times[mode], 50), "us", "metering/"+workload+"/plain")
		}
	}
	return nil
}

func (b *bench) instance(ctx context.Context, mode string) (api.Module, error) {
	scanned, err := scan.Scan(b.guest, scan.Limits{})
	if err != nil {
		return nil, err
	}
	code := b.guest
	o := rewrite.Options{MemoryMaxPages: 1 << 10, TableMax: 100_000, Stack: 16 << 20}
	switch mode {
	case "engine":
		code, err = rewrite.Interruptible(b.guest, scanned, o)
	case "fuel":
		var metered *rewrite.Metered
		if metered, err = rewrite.Fuel(b.guest, scanned, o); err == nil {
			code = metered.Code
		}
	}
	if err != nil {
		return nil, err
	}
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(mode == "engine"))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, engine); err != nil {
		return nil, err
	}
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	_, err = engine.NewHostModuleBuilder(abi.Module).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 }), nil, i32).
		Export("heartbeat").Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	_, err = engine.NewHostModuleBuilder(rewrite.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(tick), i64, i64).Export(rewrite.TickName).Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	return engine.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions(abi.ExportInitialize))
}

// tick does what the host's does: it looks whether the attempt is over.
func tick(ctx context.Context, _ api.Module, stack []uint64) {
	g := rewrite.Gauge(stack[0])
	if g.Overflowed() || ctx.Err() != nil {
		panic(errors.New("over"))
	}
	stack[0] = uint64(g.Refuelled(1<<18 - g.Fuel()))
}
