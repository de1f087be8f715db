package host

import (
	"context"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/rewrite"
)

// Interruption is how an engine gets hold of guests that run on.
type Interruption int

const (
	// InterruptByFuel meters guests: their own code counts its work and calls
	// the host every so often. Stopping a guest leaves its instance usable.
	InterruptByFuel Interruption = iota
	// InterruptByEngine has the WebAssembly engine look for the end at every
	// turn of a loop, which makes guests several times slower and counts no
	// fuel. It's a fallback, should a module's metered code ever be in doubt.
	InterruptByEngine
)

const (
	// fuelSlice is what a guest gets between two ticks: a tenth of a
	// millisecond of plain arithmetic, some milliseconds of the worst there is.
	fuelSlice = 1 << 18
	// ticksPerYield lets others run about every millisecond; a tick alone only
	// lets the collector in.
	ticksPerYield = 8
	// callStack is the room for calls: a runaway recursion ends there, before
	// the engine has allocated 160 MB for it.
	callStack = 16 << 20
)

// tick is the import that metered code calls.
type tick struct{}

// Call implements api.GoModuleFunction.
func (tick) Call(ctx context.Context, _ api.Module, stack []uint64) {
	stack[0] = uint64(executionOf(ctx).tick(rewrite.Gauge(stack[0])))
}

// tick refuels a guest, or unwinds it when its attempt is over, it has used
// what it may, or its calls are nested too deep.
func (x *execution) tick(g rewrite.Gauge) rewrite.Gauge {
	x.stopIfOver()
	if g.Overflowed() {
		x.unwind(unwind{kind: unwindStack})
	}
	slice, left := int64(fuelSlice), g.Fuel()
	if limit := x.limits.Fuel; limit > 0 {
		used := x.granted - left
		if used > limit {
			x.unwind(unwind{kind: unwindFuel})
		}
		slice = min(slice, limit-used)
	}
	if x.ticks++; x.ticks%ticksPerYield == 0 {
		runtime.Gosched()
	}
	x.granted += slice - left
	return g.Refuelled(slice - left)
}

// readGauge takes down what was used, once the guest has stopped.
func (x *execution) readGauge(gauge api.Global) {
	x.fuel = x.granted - rewrite.Gauge(gauge.Get()).Fuel()
}

func instantiateTick(ctx context.Context, engine wazero.Runtime) error {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := engine.NewHostModuleBuilder(rewrite.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(tick{}, i64, i64).WithName(rewrite.TickName).Export(rewrite.TickName).
		Instantiate(ctx)
	return err
}
