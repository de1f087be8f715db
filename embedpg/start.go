//go:build linux || darwin

package embedpg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Start joins the server in the folder, and starts it when none runs. A first
// start makes the cluster, which takes a second or two. The caller must Close
// the server; should its process end before, the kernel does.
//
// Typed errors: [*MissingError] (no binaries, or not of the data's version),
// [*FolderError] (the folder can't be written).
func Start(ctx context.Context, o Options) (*Server, error) {
	if !supervisable.Load() {
		return nil, errors.New("embedpg: main (or TestMain) must call embedpg.Supervise first")
	}
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done after %v: %w", o.Timeout, context.DeadlineExceeded))
	defer cancel()
	f, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = f.path
	s := &Server{options: o, folder: f}
	if err := s.enter(ctx); err != nil {
		if s.users != nil {
			err = errors.Join(err, s.users.Close())
		}
		return nil, errors.Join(err, f.close())
	}
	return s, nil
}

// enter takes the user's lock and sees to it that a server runs. One process
// at a time is in here.
func (s *Server) enter(ctx context.Context) error {
	began := time.Now()
	start, err := s.folder.lock(ctx, startLock, syscall.LOCK_EX)
	if err != nil {
		return waiting("another start", s.folder, err)
	}
	defer func() { _ = start.Close() }() // nothing was written
	if s.users == nil {
		// A server that is shutting down holds this lock until it is gone.
		if s.users, err = s.folder.lock(ctx, usersLock, syscall.LOCK_SH); err != nil {
			return waiting("the last server to stop", s.folder, err)
		}
	}
	if s.record, s.started, err = s.joinOrLaunch(ctx); err != nil {
		return err
	}
	if err := s.options.fits(s.record); err != nil {
		return err
	}
	if s.record.TCP {
		if s.password, err = s.folder.password(ctx, s.DSN("postgres"), s.started); err != nil {
			return fmt.Errorf("embedpg: password for TCP: %w", err)
		}
	}
	s.options.Log.Info("postgres is ready", "dir", s.options.Dir, "version", s.record.Version, "pid", s.record.Postmaster,
		"started", s.started, "runs_as", s.record.RunsAs, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// waiting keeps a typed error of the folder, and says what was waited for
// when the time was over.
func waiting(what string, f *folder, err error) error {
	var bad *FolderError
	if errors.As(err, &bad) {
		return err
	}
	return fmt.Errorf("embedpg: wait for %s in %s: %w", what, f.path, err)
}

// joinOrLaunch returns when postgres is ready, and says whether this call
// launched it.
func (s *Server) joinOrLaunch(ctx context.Context) (r record, launched bool, err error) {
	for {
		super, err := s.folder.tryLock(superLock, syscall.LOCK_EX)
		if err != nil {
			return r, false, err
		}
		if super != nil {
			err := launch(ctx, s.folder, s.options, s.record.Port, super)
			if err := errors.Join(err, super.Close()); err != nil { // the supervisor has its own copy
				return r, false, err
			}
			r, err := s.folder.readRecord()
			return r, true, err
		}
		if r, ready, err := s.folder.running(); err == nil && ready {
			return r, false, nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return r, false, fmt.Errorf("embedpg: wait for the server in %s to get ready, see %s: %w",
				s.folder.path, s.folder.join(logName), err)
		}
	}
}

// fits refuses a running server that lacks what the options ask for.
func (o Options) fits(r record) error {
	switch {
	case r.Throwaway && !o.Throwaway:
		return fmt.Errorf("embedpg: the server in %s is a throwaway one, which may lose data; choose another folder", o.Dir)
	case !r.Throwaway && o.Throwaway:
		return fmt.Errorf("embedpg: the data in %s is durable and can't be served as throwaway; choose another folder", o.Dir)
	case o.TCP && !r.TCP:
		return fmt.Errorf("embedpg: the server in %s runs without TCP; stop its other users first", o.Dir)
	}
	return nil
}

// readRecord reads what the supervisor says about its server.
func (f *folder) readRecord() (record, error) {
	var r record
	b, err := f.root.ReadFile(recordName)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return r, fmt.Errorf("embedpg: what the supervisor says, %s: %w", f.join(recordName), err)
	}
	return r, nil
}

// checkKind refuses to serve data of the other kind.
func (f *folder) checkKind(throwaway bool) error {
	if _, err := os.Stat(f.join(dataName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := f.root.Stat(throwawayName)
	return Options{Dir: f.path, Throwaway: throwaway}.fits(record{Throwaway: err == nil})
}
