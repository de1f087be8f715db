package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serverProcess is a taskq-host that stays up.
type serverProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string // of its API
	said    string // on stdout until it was up
	log     *strings.Builder
	stopped bool
}

var apiLine = regexp.MustCompile(`(?m)(?:API|listening on) +(http://\S+)`)

// start runs a command that stays up and waits until it has said where.
func (u *user) start(args ...string) *serverProcess {
	u.t.Helper()
	p := &serverProcess{t: u.t, cmd: u.command(args...), log: &strings.Builder{}}
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, p.cmd.Start())
	u.t.Cleanup(func() {
		if !p.stopped {
			p.end(os.Kill)
		}
	})
	lines := bufio.NewReader(stdout)
	for p.address == "" || !strings.Contains(p.said, "Ctrl-C") && strings.Contains(p.said, "is up") {
		line, err := lines.ReadString('\n')
		require.NoError(u.t, err, "%s ended before it was up", strings.Join(args, " "))
		p.said += line
		if m := apiLine.FindStringSubmatch(p.said); m != nil {
			p.address = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	return p
}

// end sends a signal, waits, and answers the exit code; -1 for a killed one.
func (p *serverProcess) end(s os.Signal) int {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
	_ = p.cmd.Wait() // its exit code is what counts
	p.stopped = true
	return p.cmd.ProcessState.ExitCode()
}

func (p *serverProcess) healthy() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return answers(p.t.Context(), strings.TrimPrefix(p.address, "http://")) },
		30*time.Second, 10*time.Millisecond)
}

func (u *user) contexts() contexts {
	u.t.Helper()
	c, err := readContexts(u.context())
	require.NoError(u.t, err)
	return c
}

func TestDevIsEverythingAndOutlivesAKill(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	first := u.start("dev", "--listen", "127.0.0.1:0")
	first.healthy()
	require.Regexp(t, `token +tq_\S+  \(shown once; kept in `, first.said)
	stat, err := os.Stat(u.context())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())
	require.Equal(t, first.address, u.contexts().Current)
	token := u.contexts().Servers[first.address].Token
	require.Contains(t, first.said, token)

	u.ok("actor", "push", fixture(t, "echo.wasm"))
	var before, after struct{ ID, Status string }
	require.NoError(t, json.Unmarshal([]byte(u.ok("job", "enqueue", "echo", "--payload", `{"n":1}`, "--wait", "--json")), &before))
	require.Equal(t, "succeeded", before.Status)

	first.end(os.Kill)
	again := u.start("dev", "--listen", strings.TrimPrefix(first.address, "http://"))
	again.healthy()
	require.NotContains(t, again.said, "tq_", "a token that is still valid isn't shown again")
	require.Equal(t, token, u.contexts().Servers[first.address].Token)
	require.NoError(t, json.Unmarshal([]byte(u.ok("job", "show", before.ID, "--json")), &after))
	require.Equal(t, before, after, "data survives")

	require.Equal(t, 0, again.end(syscall.SIGTERM), again.log)
}

func TestTwoDevsAtOnceDontFight(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	first := u.start("dev", "--listen", "127.0.0.1:0")
	first.healthy()
	r := u.run("dev", "--listen", strings.TrimPrefix(first.address, "http://"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "is in use by another process")
	require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)

	second := u.start("dev", "--listen", "127.0.0.1:0")
	second.healthy()
	require.Equal(t, first.address, u.contexts().Current, "the first one still answers")
	u.ok("actor", "push", fixture(t, "echo.wasm"))
	require.Contains(t, u.ok("actor", "list", "--server", second.address), "echo", "they share the database")

	require.Equal(t, 0, first.end(os.Interrupt), first.log)
	second.healthy()
	require.Contains(t, u.ok("actor", "list", "--server", second.address), "echo", "the database stays with its last user")
	require.Equal(t, 0, second.end(os.Interrupt), second.log)
}

func TestASecondSignalStopsRunningGuests(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dev := u.start("dev", "--listen", "127.0.0.1:0")
	dev.healthy()
	u.ok("actor", "push", fixture(t, "loop.wasm"))
	var job struct{ ID, Status string }
	require.NoError(t, json.Unmarshal([]byte(u.ok("job", "enqueue", "loop", "--json")), &job))
	require.Eventually(t, func() bool { return strings.Contains(u.ok("job", "list", "--status", "running"), job.ID) }, 30*time.Second, 20*time.Millisecond)

	began := time.Now()
	require.NoError(t, dev.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, dev.cmd.Process.Signal(syscall.SIGTERM)) // another one: two equal ones may become one
	_ = dev.cmd.Wait()                                          // its exit code is what counts
	dev.stopped = true
	require.Equal(t, 0, dev.cmd.ProcessState.ExitCode(), dev.log)
	require.Less(t, time.Since(began), 25*time.Second, "stop.drain is 30s")
}

func TestServeAndWorkerNeedAMigratedSchema(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_DATABASE__URL="+emptyDatabase(t))
	for _, part := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"worker"}} {
		r := u.run(part...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, part[0]+": schema taskq isn't there or isn't up to date; type: taskq-host migrate")
	}
	u.ok("migrate")
	api := u.start("serve", "--listen", "127.0.0.1:0")
	api.healthy()
	token := u.file("token", u.ok("token", "add", "ops", "--role", "admin"))
	access := []string{"--server", api.address, "--token-file", token}
	u.ok(append([]string{"actor", "push", fixture(t, "echo.wasm")}, access...)...)
	var job struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(u.ok(append([]string{"job", "enqueue", "echo", "--json"}, access...)...)), &job))
	require.Contains(t, u.ok(append([]string{"job", "list"}, access...)...), "pending", "nobody works yet")

	worker := u.command("worker")
	worker.Stderr = io.Discard
	require.NoError(t, worker.Start())
	u.ok(append([]string{"job", "watch", job.ID}, access...)...)
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait())
	require.Equal(t, 0, api.end(syscall.SIGTERM), api.log)
}

func TestAServerThatIsDownIsExitCode5AndAnUnknownTokenIs4(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_TOKEN=tq_nobody")
	r := u.run("job", "list", "--server", "http://127.0.0.1:1")
	require.Equal(t, exitUnreachable, r.code)
	require.Contains(t, r.stderr, "taskq-host dev")

	dev := u.start("dev", "--listen", "127.0.0.1:0")
	dev.healthy()
	require.Equal(t, exitNoAccess, u.run("job", "list").code)
	resp, err := http.Get(dev.address + "/openapi.json") //nolint:noctx // a test
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

func TestDevWithoutAPlaceForTheContextFileShowsTheTokenAllTheSame(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_DATABASE__URL="+emptyDatabase(t))
	u.file(".config", "a file, where a folder should be")
	dev := u.start("dev", "--listen", "127.0.0.1:0")
	dev.healthy()
	require.Regexp(t, `token +tq_\S+  \(shown once, and not kept: .*put it into TASKQ_TOKEN`, dev.said)
}
