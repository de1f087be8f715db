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
package host
