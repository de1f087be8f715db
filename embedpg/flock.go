//go:build linux || darwin

package embedpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock waits for a lock on a file in the folder. The lock is held until the
// file, and each copy that another process inherited, is closed.
func (f *folder) lock(ctx context.Context, name string, how int) (*os.File, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		file, err := f.tryLock(name, how)
		if file != nil || err != nil {
			return file, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tryLock returns nil and no error when another process holds the lock.
func (f *folder) tryLock(name string, how int) (*os.File, error) {
	file, err := f.open(name, 0)
	if err != nil {
		return nil, folderProblem(f.path, err)
	}
	err = flock(file, how|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	if cerr := file.Close(); cerr != nil {
		return nil, cerr
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", f.join(name), err)
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
