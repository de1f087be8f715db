//go:build linux || darwin

package embedpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// errTerminated says that SIGTERM came before postgres was ready.
var errTerminated = errors.New("terminated")

// postmaster is a running postgres, our child.
type postmaster struct {
	process *os.Process
	gone    chan struct{} // closed when it has ended
	exit    error         // how; set before gone is closed
}

// startPostmaster returns when postgres is ready.
func (s *supervisor) startPostmaster() (*postmaster, error) {
	if err := s.clearStale(); err != nil {
		return nil, err
	}
	if err := s.folder.rotate(logName); err != nil {
		return nil, folderProblem(s.folder.path, err)
	}
	log, err := s.folder.open(logName, os.O_APPEND)
	if err != nil {
		return nil, folderProblem(s.folder.path, err)
	}
	defer func() { _ = log.Close() }() // postgres writes it
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	pm, err := s.exec(log)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(pm); err != nil {
		if errors.Is(err, errTerminated) {
			return nil, errors.Join(err, pm.stop(s.log))
		}
		return nil, s.explain(err, log, end)
	}
	s.starts++
	s.log.Info("postgres is ready", "pid", pm.process.Pid, "runs_as", s.account, "took", time.Since(began).Round(time.Millisecond))
	if err := s.writeRecord(pm, began); err != nil {
		return nil, errors.Join(err, pm.stop(s.log))
	}
	return pm, nil
}

// exec starts postgres as a child that shuts down when we die.
func (s *supervisor) exec(log *os.File) (*postmaster, error) {
	data := s.folder.join(dataName)
	args := []string{"-D", data}
	for _, kv := range s.plan.settings(s.port) {
		args = append(args, "-c", kv)
	}
	cmd := exec.Command(filepath.Join(s.plan.Binaries.Dir, "postgres"), args...)
	cmd.Dir, cmd.Env = data, postgresEnv(os.Environ())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = s.account.attr(syscall.SIGINT) // a fast shutdown
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres as %s: %w", s.account, err)
	}
	pm := &postmaster{process: cmd.Process, gone: make(chan struct{})}
	go func() {
		defer close(pm.gone)
		if pm.exit = cmd.Wait(); pm.exit == nil {
			pm.exit = errors.New("exit status 0")
		}
	}()
	return pm, nil
}

// awaitReady waits for the status line of postmaster.pid. A connection that
// works is no proof of our child, nor is a ready line that an older postgres
// left behind; the process id is.
func (s *supervisor) awaitReady(pm *postmaster) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-pm.gone:
			return pm.exit
		case <-s.term:
			return errTerminated
		case <-tick.C:
		}
		if f, err := readPidFile(s.folder.join(dataName)); err == nil && f.ready && f.pid == pm.process.Pid {
			return nil
		}
	}
}

// explain adds what postgres said since offset from to the error of its exit.
func (s *supervisor) explain(exit error, log *os.File, from int64) error {
	const most = 8 << 10
	b, err := io.ReadAll(io.NewSectionReader(log, from, most))
	if err != nil {
		return errors.Join(exit, err)
	}
	text := strings.TrimSpace(string(b))
	if full := fullText(s.folder.path, text); full != nil {
		return full
	}
	return fmt.Errorf("postgres didn't start: %w\n%s", exit, text)
}

func (s *supervisor) writeRecord(pm *postmaster, began time.Time) error {
	r := record{Supervisor: os.Getpid(), Postmaster: pm.process.Pid, Starts: s.starts, StartedAt: began.UTC(), LastExit: s.last,
		SocketDir: s.plan.SocketDir, Port: s.port, TCP: s.plan.TCP, Throwaway: s.plan.Throwaway,
		Version: s.plan.Binaries.Version, RunsAs: s.account.String()}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.folder.replace(recordName, append(b, '\n')); err != nil {
		return folderProblem(s.folder.path, err)
	}
	return nil
}

// stop asks for a fast shutdown, which disconnects clients and writes a
// checkpoint, and then less and less kindly. SIGTERM is not among the
// signals: it means waiting for the clients, for ever.
func (pm *postmaster) stop(log hclog.Logger) error {
	for _, try := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 30 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		if err := pm.process.Signal(try.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop postgres: %w", err)
		}
		select {
		case <-pm.gone:
			log.Info("postgres has stopped", "signal", try.signal, "exit", pm.exit)
			return nil
		case <-time.After(try.wait):
		}
	}
	return fmt.Errorf("postgres (pid %d) doesn't stop", pm.process.Pid)
}

// pidFile is what postmaster.pid says: line 1 is the process, line 8 the status.
type pidFile struct {
	pid   int
	ready bool
}

func readPidFile(data string) (pidFile, error) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, err
	}
	return pidFile{pid: pid, ready: len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"}, nil
}

// running reads the record, and says whether its postgres accepts
// connections: the record may be an earlier server's, and the status line may
// be newer than the record.
func (f *folder) running() (r record, ready bool, err error) {
	if r, err = f.readRecord(); err != nil {
		return r, false, err
	}
	data := f.join(dataName)
	file, err := readPidFile(data)
	if err != nil {
		return r, false, nil // it is down
	}
	return r, file.ready && file.pid == r.Postmaster && isPostmaster(file.pid, data), nil
}
