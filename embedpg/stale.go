//go:build linux || darwin

package embedpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// clearStale removes what a killed postgres leaves behind and another one
// would stumble over. The caller holds super.lock and has no postgres running.
//
// Postgres itself takes the process of a pid file for alive when the id is
// somebody else's by now, and when it is a zombie, which in containers without
// a reaping PID 1 it stays for ever.
func (s *supervisor) clearStale() error {
	data := s.folder.join(dataName)
	if err := s.clearPidFile(data); err != nil {
		return err
	}
	// The socket has a lock file of its own. The folder is ours alone and no
	// postgres is left, so whatever is in it is stale.
	locks, err := filepath.Glob(filepath.Join(quoteGlob(s.plan.SocketDir), ".s.PGSQL.*"))
	if err != nil {
		return err
	}
	for _, l := range locks {
		if err := os.Remove(l); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return folderProblem(s.folder.path, err)
		}
	}
	return nil
}

// clearPidFile stops a postgres that has lost its supervisor, and removes the
// file when it names none.
func (s *supervisor) clearPidFile(data string) error {
	file, err := readPidFile(data)
	if err != nil || file.pid <= 0 {
		return nil // absent; an unreadable one is postgres' own to judge
	}
	const fast, immediate, look = 15 * time.Second, 5 * time.Second, 5 * time.Millisecond
	for waited := time.Duration(0); isPostmaster(file.pid, data); waited += look {
		var signal syscall.Signal
		switch waited {
		case 0:
			s.log.Warn("stopping a postgres without a supervisor", "pid", file.pid)
			signal = syscall.SIGINT
		case fast:
			signal = syscall.SIGQUIT
		case fast + immediate:
			return fmt.Errorf("a postgres without a supervisor (pid %d) serves %s and doesn't stop", file.pid, data)
		}
		if signal != 0 {
			if err := syscall.Kill(file.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stop the postgres (pid %d) that serves %s: %w", file.pid, data, err)
			}
		}
		time.Sleep(look)
	}
	err = os.Remove(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went in good order
	}
	if err != nil {
		return folderProblem(s.folder.path, err)
	}
	s.log.Warn("removed a stale postmaster.pid", "pid", file.pid)
	return nil
}

// quoteGlob makes a path match itself alone.
func quoteGlob(path string) string {
	var b []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}
