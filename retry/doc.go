// Package retry decides, from numbers alone, when a failed attempt is
// repeated: policies, curves, jitter and the budget. It reads no clock, draws
// no randomness of its own and does no I/O, so the same inputs give the same
// answer on every machine.
//
// [Decide] is for an attempt that failed, [Reclaim] for one whose worker is
// gone, [Interrupt] for one that its worker stopped, [Poisoned] for a claim
// that should never have been made. Which rule an attempt's end falls under
// is the ladder's business, in package classify; deadlines are arbitrated by
// the statement that writes a decision.
//
// Every delay is whole milliseconds, and computed without floating point
// where two machines could differ.
package retry
