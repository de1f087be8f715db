// Package host runs one attempt of one module and turns whatever happens
// there into an [Outcome]: a result, an error, a panic, an exit, an endless
// loop, a memory bomb, or a fault of the host's own.
//
// The way of a module:
//
//	upload ─► scan ─► rewrite ─► compile (in a child process) ─► Module
//	claim  ─► instantiate ─► run under limits and deadline ─► Outcome
//
// scan proves that nothing hostile reaches the engine; rewrite makes every
// shape of code stoppable; compile happens in a process that may die. Both
// are below this package and know nothing of attempts. This package knows
// nothing of SQL, policies or retries.
//
// # One attempt
//
// [Module.Run] makes an instance of its own, in memory that is all zero (or
// takes one from the pool, see below), calls what comes before the entry
// (_initialize, taskq_v1_warm, taskq_v1_resume) and then the entry, all on the
// caller's goroutine. The guest's only ways out are the imports of imports.go:
// each one checks every pointer, counts itself, and stops a guest whose attempt
// is over. An import
// that ends the attempt (a snooze, an exit, a broken contract) unwinds the
// guest by a panic of a type that only this package has.
//
// # Who decides how it ended
//
// First the host's own flag: the timeout and the caller's cancellation race
// the entry's return for one compare-and-swap, and nothing printed or exited
// with changes who won. Then what the host unwound for, then the engine's
// trap, and last, between a panic and a plain exit, the text that the
// guest's runtime printed. So a guest can mislabel nothing but itself.
//
// What goes wrong in the host itself is a failure of class HostFault: its
// text goes to the operator's log and to nobody else.
//
// # Limits
//
// Guests are metered: their own code counts its work and calls the host's tick
// every so often, which refuels them or unwinds them (interruption.go); the
// engine's own interruption is the fallback. Memory is limited by the
// allocator, per attempt, which also notes a denial: a death right after one is
// of memory. The stack of calls isn't in that memory: metered code bounds it by an estimate of its
// frames, the fallback only ends when it has taken some 170 MB of the host's.
//
// # Instances that are used again
//
// With [Options].Pool an instance whose module allows it is set back to its
// image after each attempt, memory and globals, and serves the next attempt of
// the same tenant and settings (pool.go, slot.go, image_linux.go). It's off
// unless asked for.
package host
