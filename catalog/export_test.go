package catalog

import "time"

// SetClock replaces the clock that staleness is counted by.
func (c *Catalog) SetClock(clock func() time.Time) { c.clock = clock }
