package embedpg

import "time"

// Status is the state of a server at one moment.
type Status struct {
	Ready      bool      // postgres accepts connections
	Supervisor int       // process id
	Postmaster int       // process id
	Starts     int       // how often this supervisor has started postgres; above 1 after a crash
	StartedAt  time.Time // of the present postgres
	LastExit   string    // how the previous postgres ended; empty when there was none
}
