//go:build linux || darwin

package embedpg_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
)

// place is a folder of a server for one test, and whom hosts run as.
type place struct {
	dir   string
	runAs string              // an embedpg.RunAs
	user  *syscall.Credential // nil: as the test
}

// newPlace is in memory where there is room, and can be entered by everybody,
// as the account that root drops to must. The server must be gone when the
// test is, and then the folder goes.
func newPlace(t *testing.T) place {
	t.Helper()
	base := "/tmp"
	if fi, err := os.Stat("/dev/shm"); err == nil && fi.IsDir() {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "embedpg-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	p := place{dir: filepath.Join(dir, "pg")}
	t.Cleanup(func() {
		if _, err := os.Stat(p.dir); err == nil {
			p.awaitStop(t)
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return p
}

// ordinaryUser is an account that is not root, for root's tests.
func ordinaryUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run hosts as somebody else")
	}
	u, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// ownedBy gives the place's parent to the user, who makes the folder.
func (p place) ownedBy(t *testing.T, c *syscall.Credential) place {
	t.Helper()
	require.NoError(t, os.Chown(filepath.Dir(p.dir), int(c.Uid), int(c.Gid)))
	p.user = c
	return p
}

func (p place) options() embedpg.Options { return embedpg.Options{Dir: p.dir, RunAs: p.runAs} }

func (p place) file(name string) string { return filepath.Join(p.dir, name) }

// start uses the server in this process until the test ends.
func (p place) start(t *testing.T, o embedpg.Options) *embedpg.Server {
	t.Helper()
	s, err := embedpg.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // the test may have closed it
	return s
}

// awaitStop waits until no supervisor is left, and checks that postgres went
// in good order.
func (p place) awaitStop(t *testing.T) {
	t.Helper()
	p.awaitNoSupervisor(t)
	p.awaitNoPostmaster(t)
}

func (p place) awaitNoSupervisor(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		f, err := os.Open(p.file("super.lock"))
		if err != nil {
			return true // never started
		}
		defer func() { _ = f.Close() }()
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	}, 30*time.Second, 2*time.Millisecond, "the supervisor stays")
}

func (p place) awaitNoPostmaster(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(p.file("data/postmaster.pid"))
		return os.IsNotExist(err)
	}, 30*time.Second, 2*time.Millisecond, "postmaster.pid stays")
}

// testBinary is a copy of this program that everybody can execute: go test
// builds into a private folder.
var testBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "embedpg-test-bin-")
	if err != nil {
		return "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "host")
	return path, os.WriteFile(path, b, 0o755)
})

// hostProcess is a program that uses the server.
type hostProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
	first hostLine
}

// launch runs a host and returns when its start has gone well or badly.
func (p place) launch(t *testing.T, plan hostPlan) *hostProcess {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	if p.user != nil {
		exe, err = testBinary()
		require.NoError(t, err)
	}
	arg, err := json.Marshal(plan)
	require.NoError(t, err)
	h := &hostProcess{cmd: exec.Command(exe)}
	h.cmd.Dir = "/"
	h.cmd.Env = append(os.Environ(), hostEnv+"="+string(arg))
	h.cmd.Stderr = os.Stderr
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	h.stdin, err = h.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := h.cmd.StdoutPipe()
	require.NoError(t, err)
	h.lines = bufio.NewScanner(out)
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() { h.kill() })
	h.first = h.next(t)
	return h
}

// up is launch for a host whose start must go well.
func (p place) up(t *testing.T) *hostProcess {
	t.Helper()
	h := p.launch(t, hostPlan{Options: p.options()})
	require.Empty(t, h.first.Error)
	return h
}

func (h *hostProcess) next(t *testing.T) hostLine {
	t.Helper()
	require.True(t, h.lines.Scan(), "the host ended: %v", h.lines.Err())
	var l hostLine
	require.NoError(t, json.Unmarshal(h.lines.Bytes(), &l), h.lines.Text())
	return l
}

// kill is what kill -9 does; it may be called twice.
func (h *hostProcess) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// leave ends the host in good order.
func (h *hostProcess) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, h.stdin.Close())
	require.NoError(t, h.cmd.Wait())
}

// query runs one statement on a connection of its own.
func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	rows, err := c.Query(ctx, sql)
	require.NoError(t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	require.NoError(t, c.Close(ctx))
	return v
}

// snapshot is the content of all files below dir, to show that they are left alone.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	}))
	return files
}
