package rewrite

// Gauge is the one number that metered code keeps: the fuel that is left of the
// slice that it was granted, and the room that is left for calls. Both are in
// one global, because to charge a call for either would else take a load
// and a store more, and that is most of what metering costs.
//
// The low depthBits hold the room, as a signed number of stackUnits; the rest
// holds the fuel. Whichever is overdrawn sets its highest bit, so that one
// test with gaugeMask sees both, and a comparison with zero sees the fuel.
type Gauge int64

const (
	depthBits = 20
	gaugeMask = -1<<63 | 1<<(depthBits-1)

	// stackUnit is the size that the room for calls is counted in, in bytes of
	// the engine's stack.
	stackUnit = 64
	// MaxStack is the most room for calls that a gauge can hold, in bytes.
	MaxStack = (1<<(depthBits-1) - 1) * stackUnit
)

// newGauge has no fuel, so that the first charge asks for some.
func newGauge(stack int64) Gauge { return Gauge(stack / stackUnit) }

// Fuel is what is left of the slice, in units; negative when overdrawn.
func (g Gauge) Fuel() int64 { return int64(g-Gauge(g.depth())) >> depthBits }

// Overflowed reports whether the calls are nested deeper than there is room.
func (g Gauge) Overflowed() bool { return g.depth() < 0 }

// Refuelled has that many units more.
func (g Gauge) Refuelled(units int64) Gauge { return g + Gauge(units)<<depthBits }

func (g Gauge) depth() int64 { return int64(g) << (64 - depthBits) >> (64 - depthBits) }

// charge is what to subtract from a gauge.
func charge(fuel, depth int64) int64 { return fuel<<depthBits + depth }
