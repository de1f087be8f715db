//go:build linux || darwin

package embedpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// supervisable says that this program's main calls Supervise, so that the
// program can be re-executed as a supervisor.
var supervisable atomic.Bool

// File descriptors that a supervisor inherits.
const (
	superFD = 3 // the locked super.lock; never used, held open
	replyFD = 4
)

// Supervise must be the first call in main, or in TestMain, of a program that
// calls [Start]. In a process that Start re-executed as a supervisor it never
// returns; in any other it does nothing.
func Supervise() {
	supervisable.Store(true)
	arg, ok := os.LookupEnv(superviseEnv)
	if !ok {
		return
	}
	// The kernel ties the death signal of a child to the thread that forked
	// it, not to the process: that thread must live as long as we do.
	runtime.LockOSThread()
	os.Exit(supervise(arg))
}

// supervise is a supervisor's main; it returns the exit status.
func supervise(arg string) int {
	syscall.CloseOnExec(superFD)
	syscall.CloseOnExec(replyFD)
	answer := os.NewFile(replyFD, "reply")
	log := hclog.New(&hclog.LoggerOptions{Name: fmt.Sprintf("supervisor[%d]", os.Getpid()), Output: os.Stderr})
	answered := false
	say := func(r reply) {
		if answered {
			return
		}
		answered = true
		err := json.NewEncoder(answer).Encode(r)
		if err := errors.Join(err, answer.Close()); err != nil {
			log.Info("the starter is gone", "error", err)
		}
	}
	err := os.Unsetenv(superviseEnv)
	if err == nil {
		err = runSupervisor(arg, log, func() { say(reply{Ready: true}) })
	}
	if err != nil {
		log.Error("giving up", "error", err)
		say(replyOf(err))
		return 1
	}
	return 0
}

// replyOf carries an error to the starter.
func replyOf(err error) reply {
	r := reply{Error: err.Error()}
	var bad *FolderError
	if errors.As(err, &bad) {
		r.Folder, r.Error = bad.Problem, ""
		if bad.Err != nil {
			r.Error = bad.Err.Error()
		}
	}
	return r
}

func runSupervisor(arg string, log hclog.Logger, ready func()) error {
	// Ctrl-C and a closing terminal are for the users: they drain, then leave.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	var p plan
	if err := json.Unmarshal([]byte(arg), &p); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	f, err := openFolder(p.Dir)
	if err != nil {
		return err
	}
	s := &supervisor{plan: p, folder: f, log: log, ready: ready, term: term}
	if s.account, err = chooseAccount(p, f, log); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.choosePort(); err != nil {
		return err
	}
	return s.run()
}

// supervisor keeps one postgres running until its users are gone.
type supervisor struct {
	plan    plan
	folder  *folder
	account account
	log     hclog.Logger
	ready   func() // tells the starter
	term    <-chan os.Signal
	port    int
	starts  int
	last    string // how the previous postgres ended
}

// Of a postgres that dies: how often it is started again before the
// supervisor gives up, how long one must live to be forgiven, and the unit of
// the growing pauses between.
const (
	maxDeaths    = 6
	forgiveAfter = time.Minute
	deathPause   = 50 * time.Millisecond
)

// termGrace is how long users may go on after SIGTERM: when a machine shuts
// down, everybody gets the signal at once, and the users drain first.
const termGrace = 30 * time.Second

func (s *supervisor) run() error {
	idle, err := s.watchUsers()
	if err != nil {
		return err
	}
	for deaths := 0; ; {
		began := time.Now()
		pm, err := s.startPostmaster()
		if err == nil {
			s.ready()
			var over bool
			if over, err = s.attend(pm, idle); over {
				return err
			}
		}
		if errors.Is(err, errTerminated) {
			return nil
		}
		if err != nil && s.starts == 0 {
			return err // it never worked: the starter is told at once
		}
		if time.Since(began) > forgiveAfter {
			deaths = 0
		}
		if deaths++; deaths >= maxDeaths {
			return fmt.Errorf("gave up on postgres after %d deaths, the last: %w", deaths, err)
		}
		s.log.Warn("starting postgres again", "error", err)
		time.Sleep(time.Duration(deaths*deaths) * deathPause)
	}
}

// attend waits beside a running postgres. over means that the supervisor is
// done; otherwise postgres has died of err.
func (s *supervisor) attend(pm *postmaster, idle <-chan struct{}) (over bool, err error) {
	select {
	case <-idle:
		s.log.Info("no users left, stopping")
	case <-s.term:
		s.log.Info("SIGTERM, stopping when the users are gone", "at_most", termGrace)
		select {
		case <-idle:
		case <-pm.gone:
			return true, nil
		case <-time.After(termGrace):
		}
	case <-pm.gone:
		s.last = pm.exit.Error()
		return false, fmt.Errorf("postgres died: %w", pm.exit)
	}
	if err := pm.stop(s.log); err != nil {
		return true, err
	}
	return true, s.tidy()
}

// tidy runs after a stop in good order.
func (s *supervisor) tidy() error {
	if filepath.Dir(s.plan.SocketDir) != s.folder.path {
		if err := os.Remove(s.plan.SocketDir); err != nil {
			s.log.Info("the socket's folder stays", "error", err)
		}
	}
	return s.discard()
}
