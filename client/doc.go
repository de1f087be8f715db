// Package client speaks to a taskq-host's API: enqueue, wait, look, cancel,
// push. It needs nothing else of this module and keeps no state but its
// connections.
//
// What the API refuses is a *[Problem], which names each place and rule; a
// host that can't be reached is [ErrUnreachable]. Nothing is retried unless a
// method says so: an enqueue whose answer was lost may have been stored.
package client
