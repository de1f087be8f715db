// Package store is the only package that holds SQL. It keeps jobs in one
// Postgres (14 or newer) in a shape made for queues: a job's state is where
// its row is, and every move is one statement.
//
//	jobs       written once at the enqueue, never updated
//	ready      due now; deleted by the claim
//	scheduled  due later: a delay, a retry, a snooze
//	leases     one row a claimed block: its members run
//	finished   one row a job at its end
//	attempts   one row a failed, deferred or crashed attempt
//
// # The fence
//
// A claim takes ready rows away and writes one lease row, whose id the worker
// chose before. Whatever ends or moves a member (a completion, a retry, a
// release, a reclaim) begins by locking the lease row and takes the members,
// epochs, ended and cancel bits only from that locked row; never from a second
// read, which at READ COMMITTED would show another moment. So a member ends
// once: the second writer finds its bit set or the row gone, and writes
// nothing. Lease rows are always locked in the order of their ids.
//
// # The clock
//
// The database's clock decides all times, read once a statement
// (WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now)): two readings
// could put a job into both places or none, and bare in a WHERE the volatile
// function uses no index.
//
// # Fairness
//
// A claim walks the lanes (tenant, lane) of one queue from where the last one
// stopped, one index seek a lane, and takes an equal share of the batch from
// each. Its cost is in the lanes it visits, not in the backlog.
package store
