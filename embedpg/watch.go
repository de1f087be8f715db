//go:build linux || darwin

package embedpg

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Status reads what the supervisor and postgres say about themselves.
func (s *Server) Status() (Status, error) {
	r, ready, err := s.folder.running()
	if err != nil {
		return Status{}, err
	}
	return Status{Ready: ready, Supervisor: r.Supervisor, Postmaster: r.Postmaster, Starts: r.Starts,
		StartedAt: r.StartedAt, LastExit: r.LastExit}, nil
}

// Watch follows the server until ctx ends, looking once per interval. It
// calls changed whenever postgres was started anew, by its supervisor after a
// crash of postgres, or by Watch itself when the supervisor is gone; and with
// an error each time Watch fails to bring it back. Connection pools need no
// notice: they reconnect. One Watch at a time may run on a server, and it
// must have returned before Close.
func (s *Server) Watch(ctx context.Context, interval time.Duration, changed func(Status, error)) {
	known := s.record.Postmaster
	for pause(ctx, interval) == nil {
		err := s.revive(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			changed(Status{}, err)
			continue
		}
		st, err := s.Status()
		if err != nil {
			changed(Status{}, err)
			continue
		}
		if st.Ready && st.Postmaster != known {
			known = st.Postmaster
			changed(st, nil)
		}
	}
}

// revive starts a new supervisor when none lives.
func (s *Server) revive(ctx context.Context) error {
	super, err := s.folder.tryLock(superLock, syscall.LOCK_SH)
	if err != nil || super == nil {
		return err
	}
	if err := super.Close(); err != nil {
		return fmt.Errorf("embedpg: %w", err)
	}
	s.options.Log.Warn("the supervisor of postgres is gone, starting another", "dir", s.options.Dir)
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("not done after %v: %w", s.options.Timeout, context.DeadlineExceeded))
	defer cancel()
	start, err := s.folder.lock(ctx, startLock, syscall.LOCK_EX)
	if err != nil {
		return waiting("another start", s.folder, err)
	}
	defer func() { _ = start.Close() }() // nothing was written
	_, _, err = s.joinOrLaunch(ctx)
	return err
}
