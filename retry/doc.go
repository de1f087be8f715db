// Package retry decides, from numbers alone, when a failed attempt is
// repeated: policies, curves, jitter and the budget. It reads no clock, draws
// no randomness of its own and does no I/O, so the same inputs give the same
// answer on every machine.
package retry
