package server

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

// A job that is waited for is asked for soon, then ever more rarely: most end
// within milliseconds, and the rest don't deserve the database's attention.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = time.Second
	maxWait   = time.Minute
)

type showJobInput struct {
	ID   string `path:"id" format:"uuid" doc:"The job's id."`
	Wait string `query:"wait" example:"30s" doc:"How long to wait for the job's end: a duration, at most 1m."`
}

type showJobOutput struct{ Body Job }

func (s *Server) showJob(ctx context.Context, in *showJobInput) (*showJobOutput, error) {
	id, err := (&jobPath{in.ID}).id()
	if err != nil {
		return nil, err
	}
	var wait time.Duration
	if in.Wait != "" {
		if wait, err = config.ParseDuration(in.Wait); err != nil || wait < 0 || wait > maxWait {
			return nil, invalid("query.wait", "must be a duration, 0s to 1m")
		}
	}
	j, err := s.awaited(ctx, callerOf(ctx).Tenant, id, wait)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	return &showJobOutput{Body: viewOf(j)}, nil
}

// awaited gives the job when it has ended, or as it is when the time is over
// or the server stops.
func (s *Server) awaited(ctx context.Context, tenant store.Tenant, id store.ID, wait time.Duration) (*store.Job, error) {
	j, err := s.store.Job(ctx, tenant, id)
	if err != nil || wait == 0 || j.Status.Terminal() {
		return j, err
	}
	if !s.waiters.TryAcquire(1) {
		return nil, s.unavailable("too many requests wait for jobs", retryBusy)
	}
	defer s.waiters.Release(1)
	over := time.NewTimer(wait)
	defer over.Stop()
	for look := firstLook; ; look = min(look*3/2, lastLook) {
		last := false
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-over.C:
			last = true
		case <-s.stopping:
			last = true
		case <-time.After(look):
		}
		if j, err = s.store.Job(ctx, tenant, id); err != nil || last || j.Status.Terminal() {
			return j, err
		}
	}
}

// storable reports whether a text column takes s.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
