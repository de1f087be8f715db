package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
)

// binary is the program as people run it, built once for all tests.
var binary string

// modules is a cache of compiled modules that all tests share.
var modules string

func TestMain(m *testing.M) {
	embedpg.Supervise()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "taskq-host-cmd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, modules = filepath.Join(dir, "taskq-host"), filepath.Join(dir, "modules")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// user is somebody with a home of their own, in whose name commands run.
type user struct {
	t    *testing.T
	home string
	env  []string
}

func newUser(t *testing.T, env ...string) *user {
	t.Helper()
	home, err := os.MkdirTemp("", "taskq-host-user-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(home, 0o755)) // #nosec G302 -- root's postgres runs as another account
	t.Cleanup(func() {
		// The embedded server is still writing for a moment after its last user.
		require.Eventually(t, func() bool { return os.RemoveAll(home) == nil }, 20*time.Second, 20*time.Millisecond)
	})
	u := &user{t: t, home: home}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKQ_") && !strings.HasPrefix(v, "XDG_") && !strings.HasPrefix(v, "PG") {
			u.env = append(u.env, v)
		}
	}
	u.env = append(u.env, "HOME="+home, "TASKQ_PG_DIR="+filepath.Join(home, "pg"), "TASKQ_CACHE_DIR="+modules)
	u.env = append(u.env, env...)
	return u
}

// context is where this user's context file is.
func (u *user) context() string {
	return filepath.Join(u.home, ".config", "taskq-host", "context.json")
}

func (u *user) file(name, content string) string {
	u.t.Helper()
	path := filepath.Join(u.home, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(u.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// ran is what became of a command.
type ran struct {
	code           int
	stdout, stderr string
}

func (u *user) run(args ...string) ran { return u.runWith("", args...) }

func (u *user) runWith(stdin string, args ...string) ran {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := u.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(u.t, err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), binary, args...)
	cmd.Env, cmd.Dir = u.env, u.home
	return cmd
}

// ok runs a command that must succeed, and answers its stdout.
func (u *user) ok(args ...string) string {
	u.t.Helper()
	r := u.run(args...)
	require.Equal(u.t, 0, r.code, "taskq-host %s\n%s%s", strings.Join(args, " "), r.stdout, r.stderr)
	return r.stdout
}

// fixture is a module of the repository's.
func fixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "testdata", "wasm", name))
	require.NoError(t, err)
	return path
}

// ownFixture is a module of this package's.
func ownFixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// emptyDatabase is a database of the test's own, without a schema.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.New(t, "empty", nil)
}
