package server

import (
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/store"
)

// SetBodyTime sets how long a body of JSON may take.
func (s *Server) SetBodyTime(d time.Duration) { s.timing.body = d }

// SomebodyWaits reports whether a request waits for a job.
func (s *Server) SomebodyWaits() bool {
	if !s.waiters.TryAcquire(maxWaiters) {
		return true
	}
	s.waiters.Release(maxWaiters)
	return false
}

// Recovered is the outermost layer around another handler.
func (s *Server) Recovered(next http.Handler) http.Handler { return s.recovered(next) }

// EnqueueFieldNames are the fields that the reader knows.
func EnqueueFieldNames() (known, later []string) {
	for name := range enqueueFields {
		known = append(known, name)
	}
	for name := range notOffered {
		later = append(later, name)
	}
	return known, later
}

// Gate is a gate over another look-up and clock.
type Gate struct{ g *gate }

// NewGate makes a [Gate].
func NewGate(lookup func(context.Context, string) (store.Token, error), clock func() time.Time) (Gate, error) {
	g, err := newGate(lookup, clock)
	return Gate{g}, err
}

// Admit finds whose request it is.
func (g Gate) Admit(r *http.Request) (store.Token, error) { return g.g.admit(r) }

// RetryAfter is the seconds that a problem asks to wait.
func (p *Problem) RetryAfter() int { return p.retryAfter }

// Wakeups is the coalescer with another sender.
type Wakeups struct{ w *wakeups }

// NewWakeups makes [Wakeups].
func NewWakeups(send func(context.Context, string) error) Wakeups {
	return Wakeups{newWakeups(send, hclog.NewNullLogger())}
}

// Wake asks for a wake-up.
func (w Wakeups) Wake(queue string) { w.w.wake(queue) }

// Close ends it.
func (w Wakeups) Close() { w.w.close() }

// Split splits a text as a body is split: an object's names and values, or an
// array's values.
func Split(text []byte) (names []string, values [][]byte, err error) {
	if err := checkJSON(text); err != nil {
		return nil, nil, err
	}
	if values, err := elements(text); err == nil {
		return nil, values, nil
	}
	fields, err := members(text)
	for _, f := range fields {
		names, values = append(names, f.name), append(values, f.raw)
	}
	return names, values, err
}

// ReadDraft reads a job as the API does; the places of what is wrong with it.
func ReadDraft(text []byte) (store.NewJob, []string) {
	if err := checkJSON(text); err != nil {
		return store.NewJob{}, []string{"body"}
	}
	d := readDraft(text)
	var places []string
	for _, f := range d.faultsUnder("body") {
		places = append(places, f.Location)
	}
	return d.job, places
}
