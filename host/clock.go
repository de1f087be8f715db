package host

import (
	"io"
	"math/rand/v2"
	"time"
)

// clock is what a guest can learn of time and chance. A classifier is a pure
// function of its input, so its clock is virtual: it begins at a fixed moment,
// moves by a microsecond a reading, and a sleep moves it without waiting;
// chance is a fixed sequence.
type clock struct {
	engine  *Engine
	virtual bool
	elapsed time.Duration
	chance  *rand.ChaCha8

	// from is set where the instance began from an image: monotonic time is
	// what passed since then, behind elapsed.
	from time.Time
}

// virtualEpoch is a moment that no runtime takes for an unset clock.
var virtualEpoch = time.Unix(1_000_000_000, 0)

func newClock(e *Engine, virtual bool) clock {
	c := clock{engine: e, virtual: virtual}
	if virtual {
		c.chance = rand.NewChaCha8([32]byte{})
	}
	return c
}

// now is the host's own view, for limits and logs.
func (c *clock) now() time.Time { return c.engine.clock() }

// wall is the guest's wall clock.
func (c *clock) wall() time.Time {
	if c.virtual {
		return virtualEpoch.Add(c.tick())
	}
	return c.engine.clock()
}

// monotonic is the guest's clock that never goes back, in nanoseconds.
func (c *clock) monotonic() int64 {
	if c.virtual {
		return int64(c.tick())
	}
	if !c.from.IsZero() {
		return int64(c.elapsed+c.engine.clock().Sub(c.from)) + 1
	}
	return int64(c.engine.clock().Sub(c.engine.epoch)) + 1
}

func (c *clock) tick() time.Duration {
	c.elapsed += time.Microsecond
	return c.elapsed
}

// fill gives random bytes; an error is the system's.
func (c *clock) fill(p []byte) error {
	if c.virtual {
		_, err := c.chance.Read(p)
		return err
	}
	_, err := io.ReadFull(c.engine.random, p)
	return err
}
