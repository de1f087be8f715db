//go:build linux || darwin

package embedpg

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// superviseEnv makes a process a supervisor; it holds the plan.
const superviseEnv = "TASKQ_PG_SUPERVISE"

// plan is what a supervisor is told.
type plan struct {
	Dir       string            `json:"dir"`
	Binaries  Binaries          `json:"binaries"`
	SocketDir string            `json:"socket_dir"`
	Throwaway bool              `json:"throwaway"`
	TCP       bool              `json:"tcp"`
	Port      int               `json:"port"` // of a server that users already know; 0 chooses
	Linger    time.Duration     `json:"linger"`
	RunAs     string            `json:"run_as"`
	Settings  map[string]string `json:"settings"`
}

// reply is what a supervisor answers once: postgres is ready, or why not.
type reply struct {
	Ready  bool   `json:"ready"`
	Error  string `json:"error,omitempty"`
	Folder string `json:"folder,omitempty"` // the FolderError's problem, when it is one
}

// launch starts a supervisor, which takes over the lock super, and waits
// until postgres is ready.
//
// When ctx ends before, the supervisor goes on: a recovery that takes longer
// than one caller's patience must be able to finish. It stops by itself when
// no user is there.
func launch(ctx context.Context, f *folder, o Options, port int, super *os.File) error {
	if err := f.checkKind(o.Throwaway); err != nil {
		return err
	}
	bin, err := Find(ctx, o)
	if err != nil {
		return err
	}
	p := plan{Dir: f.path, Binaries: bin, SocketDir: socketDir(f.path), Throwaway: o.Throwaway, TCP: o.TCP, Port: port,
		Linger: o.Linger, RunAs: o.RunAs, Settings: o.Settings}
	answer, err := spawn(f, p, super)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }() // only read
	r, err := readReply(ctx, answer)
	switch {
	case err != nil:
		return fmt.Errorf("embedpg: start postgres in %s, see %s: %w", f.path, f.join(superLogName), err)
	case r.Folder != "":
		bad := &FolderError{Dir: f.path, Problem: r.Folder}
		if r.Error != "" {
			bad.Err = errors.New(r.Error)
		}
		return bad
	case !r.Ready:
		return errors.New("embedpg: " + r.Error)
	}
	return nil
}

// spawn re-executes this program as the supervisor and returns the pipe on
// which it replies.
func spawn(f *folder, p plan, super *os.File) (*os.File, error) {
	arg, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("embedpg: %w", err)
	}
	if err := f.rotate(superLogName); err != nil {
		return nil, folderProblem(f.path, err)
	}
	log, err := f.open(superLogName, os.O_APPEND)
	if err != nil {
		return nil, folderProblem(f.path, err)
	}
	defer func() { _ = log.Close() }() // the supervisor's
	exe, err := executable()
	if err != nil {
		return nil, fmt.Errorf("embedpg: %w", err)
	}
	answer, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("embedpg: %w", err)
	}
	defer func() { _ = theirs.Close() }() // so that its end is seen as the end of the supervisor
	cmd := exec.Command(exe)
	cmd.Args = []string{"taskq-pg-supervisor", p.Dir}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), superviseEnv+"="+string(arg))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{super, theirs}           // become superFD and replyFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of the terminal's Ctrl-C and hang-up
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("embedpg: start the supervisor: %w", err), answer.Close())
	}
	// Nobody waits for it: it outlives us, or it is a zombie until we end,
	// and a zombie holds no lock.
	return answer, cmd.Process.Release()
}

// executable is a path to this program that still works when the file was
// removed or replaced, as go run and go test do.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// readReply reads the supervisor's answer, which may take long, until ctx ends.
func readReply(ctx context.Context, answer *os.File) (reply, error) {
	stop := context.AfterFunc(ctx, func() { _ = answer.SetReadDeadline(time.Unix(1, 0)) }) // makes the read fail
	defer stop()
	b, err := io.ReadAll(answer)
	if err != nil {
		return reply{}, cmp.Or(context.Cause(ctx), err)
	}
	if len(b) == 0 {
		return reply{}, errors.New("the supervisor died")
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		return reply{}, fmt.Errorf("the supervisor said %q: %w", strings.TrimSpace(string(b)), err)
	}
	return r, nil
}
