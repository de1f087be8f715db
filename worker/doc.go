// Package worker is the loop. The way of a job, each step a call in
// [Worker.attempt]:
//
//	claim    take due jobs from the store, leased to this worker
//	run      one attempt in the host's sandbox → an outcome
//	decide   the ladder: done, retry at a time, snooze, dead letter
//	record   written in batches, fenced by the claim
//
// Around it: a heartbeat prolongs the worker's leases and hears of cancels; a
// watchdog stops every guest before a lease that can't be prolonged is over,
// by this process's own monotonic clock; a sweep moves due jobs, ends those
// past their deadline and gives back what dead workers held. No leader: any
// worker may do any of it.
//
// A worker that lost its leases (frozen, cut off) drops every verdict it still
// has and goes on under a new identity.
package worker
