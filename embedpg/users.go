//go:build linux || darwin

package embedpg

import (
	"syscall"
	"time"
)

// watchUsers closes the channel when no user was there for the linger time.
// From then on it holds the users' lock, so that who comes next waits until
// this supervisor is gone.
func (s *supervisor) watchUsers() (<-chan struct{}, error) {
	users, err := s.folder.open(usersLock, 0)
	if err != nil {
		return nil, folderProblem(s.folder.path, err)
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for {
			if err := flock(users, syscall.LOCK_EX); err != nil {
				s.log.Error("can't tell whether users are left", "error", err)
				return
			}
			if s.plan.Linger == 0 || !s.linger(func(how int) error { return flock(users, how) }) {
				return
			}
		}
	}()
	return idle, nil
}

// linger opens the door for the linger time and says whether somebody came.
// When nobody did, the lock is held again.
func (s *supervisor) linger(lock func(how int) error) (came bool) {
	const looks = 20
	for range looks {
		if err := lock(syscall.LOCK_UN); err != nil {
			s.log.Error("can't open the door to users", "error", err)
			return false
		}
		time.Sleep(s.plan.Linger / looks)
		if lock(syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			return true
		}
	}
	return false
}
