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
// [Module.Run] makes an instance of its own, in memory that is all zero,
// calls what comes before the entry (_initialize, taskq_v1_warm,
// taskq_v1_resume) and then the entry, all on the caller's goroutine. The
// guest's only ways out are the imports of imports.go: each one checks every
// pointer, counts itself, and stops a guest whose attempt is over. An import
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
// The engine interrupts guests at loops, and the rewrite puts one at each
// function's entry. Memory is limited by the allocator, per attempt, which
// also notes a denial: a death right after one is of memory. The stack of
// calls isn't in that memory: a runaway recursion takes up to some 170 MB of
// the host's until it ends.
package host
