package worker

import (
	"sync"
	"time"
)

// backlog holds claimed jobs that haven't started. It is bounded by its
// filler, who asks how many there are before it claims.
type backlog struct {
	mu     sync.Mutex
	more   sync.Cond
	jobs   []*job
	closed bool
}

func newBacklog() *backlog {
	b := &backlog{}
	b.more.L = &b.mu
	return b
}

func (b *backlog) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.jobs)
}

// push hands jobs to whoever waits; false if the backlog is closed: then the
// jobs are still the caller's.
func (b *backlog) push(jobs []*job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.jobs = append(b.jobs, jobs...)
	if len(jobs) == 1 {
		b.more.Signal()
	} else {
		b.more.Broadcast()
	}
	return true
}

// pop waits for the next job; false once the backlog is closed.
func (b *backlog) pop() (*job, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.jobs) == 0 && !b.closed {
		b.more.Wait()
	}
	if b.closed {
		return nil, false
	}
	j := b.jobs[0]
	b.jobs[0] = nil
	b.jobs = b.jobs[1:]
	return j, true
}

// stale takes out the jobs that were claimed before then and never started.
func (b *backlog) stale(before time.Time) []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.jobs) && b.jobs[n].claimed.Before(before) {
		n++
	}
	out := append([]*job(nil), b.jobs[:n]...)
	clear(b.jobs[:n])
	b.jobs = b.jobs[n:]
	return out
}

// takeAll takes out every job that never started.
func (b *backlog) takeAll() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.jobs
	b.jobs = nil
	return out
}

// close ends every pop; what is left is for takeAll.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}
