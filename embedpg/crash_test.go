//go:build linux || darwin

package embedpg_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
)

// TestKilled kills each process of a server in turn, and all at once. Each
// time the next start must find every row.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, as := range []struct {
		name  string
		place func(t *testing.T) place
	}{
		{"as whoever runs the tests", newPlace},
		{"as root in a user namespace", func(t *testing.T) place {
			if os.Geteuid() != 0 {
				t.Skip("only root needs a user namespace")
			}
			if b, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err != nil || strings.TrimSpace(string(b)) == "0" {
				t.Skip("the kernel allows no user namespaces")
			}
			p := newPlace(t)
			p.runAs = embedpg.RunAsNamespace
			return p
		}},
		{"as an ordinary user", func(t *testing.T) place { return newPlace(t).ownedBy(t, ordinaryUser(t)) }},
	} {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			k := &killing{place: as.place(t)}
			t.Run("a first start makes a cluster", k.firstStart)
			t.Run("a server outlives its first user, not its last", k.leaving)
			t.Run("the user", k.user)
			t.Run("the supervisor", k.supervisor)
			t.Run("postgres", k.postgres)
			t.Run("everybody", k.everybody)
			t.Run("a pid file that names a living stranger", k.stalePidFile)
			t.Run("a socket's lock that names a living stranger", k.staleSocket)
		})
	}
}

type killing struct {
	place
	rows int
}

// insert adds a row and checks that all earlier ones are there.
func (k *killing) insert(t *testing.T, dsn string) {
	t.Helper()
	k.rows++
	require.Equal(t, k.rows, query[int](t, dsn, fmt.Sprintf("insert into kept values (%d) returning n", k.rows)))
	require.Equal(t, k.rows, query[int](t, dsn, "select count(*) from kept"))
}

func (k *killing) firstStart(t *testing.T) {
	h := k.up(t)
	require.True(t, h.first.Started)
	require.Equal(t, 1, h.first.Status.Starts)
	c, err := pgx.Connect(t.Context(), h.first.DSN)
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "create table kept (n int)")
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
	k.insert(t, h.first.DSN)
	h.leave(t)
	k.awaitStop(t)
}

func (k *killing) leaving(t *testing.T) {
	first := k.up(t)
	second := k.up(t)
	require.True(t, first.first.Started)
	require.False(t, second.first.Started)
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, first.cmd.Wait())
	k.insert(t, second.first.DSN)
	require.Equal(t, first.first.Status.Postmaster, second.first.Status.Postmaster)
	second.leave(t)
	k.awaitStop(t)
}

func (k *killing) user(t *testing.T) {
	h := k.up(t)
	k.insert(t, h.first.DSN)
	h.kill()
	k.awaitStop(t)
}

func (k *killing) supervisor(t *testing.T) {
	h := k.up(t)
	k.insert(t, h.first.DSN)
	require.NoError(t, syscall.Kill(h.first.Status.Supervisor, syscall.SIGKILL))
	k.awaitNoPostmaster(t) // the kernel told it to go
	next := k.up(t)        // though the first user lives
	require.True(t, next.first.Started)
	k.insert(t, next.first.DSN)
	next.leave(t)
	k.insert(t, h.first.DSN) // the new server is the first user's too
	h.leave(t)
	k.awaitStop(t)
}

func (k *killing) postgres(t *testing.T) {
	h := k.launch(t, hostPlan{Options: k.options(), Watch: true})
	require.Empty(t, h.first.Error)
	k.insert(t, h.first.DSN)
	require.NoError(t, syscall.Kill(h.first.Status.Postmaster, syscall.SIGKILL))
	notice := h.next(t)
	require.Empty(t, notice.Error)
	require.Equal(t, 2, notice.Status.Starts)
	require.Equal(t, "signal: killed", notice.Status.LastExit)
	require.Equal(t, h.first.Status.Supervisor, notice.Status.Supervisor)
	k.insert(t, h.first.DSN)
	h.leave(t)
	k.awaitStop(t)
}

func (k *killing) everybody(t *testing.T) {
	h := k.up(t)
	k.insert(t, h.first.DSN)
	k.killAll(t, h)
	next := k.up(t)
	k.insert(t, next.first.DSN)
	next.leave(t)
	k.awaitStop(t)
}

// killAll returns when the supervisor is dead: until then it can be joined.
func (p place) killAll(t *testing.T, h *hostProcess) {
	t.Helper()
	require.NoError(t, syscall.Kill(h.first.Status.Supervisor, syscall.SIGKILL))
	require.NoError(t, syscall.Kill(h.first.Status.Postmaster, syscall.SIGKILL))
	h.kill()
	p.awaitNoSupervisor(t)
}

// stalePidFile: the id of a dead postgres may be somebody else's by now, here
// this test's.
func (k *killing) stalePidFile(t *testing.T) {
	text := fmt.Sprintf("%d\n%s\n%d\n5432\n\n\n\nready   \n", os.Getpid(), k.file("data"), time.Now().Unix())
	k.plant(t, k.file("data/postmaster.pid"), text)
	h := k.up(t)
	k.insert(t, h.first.DSN)
	h.leave(t)
	k.awaitStop(t)
}

func (k *killing) staleSocket(t *testing.T) {
	k.plant(t, k.file("sock/.s.PGSQL.5432.lock"), fmt.Sprintf("%d\n%s\n", os.Getpid(), k.file("data")))
	h := k.up(t)
	k.insert(t, h.first.DSN)
	h.leave(t)
	k.awaitStop(t)
}

// plant writes a file that belongs to whom the data belongs to.
func (k *killing) plant(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	fi, err := os.Stat(k.file("data"))
	require.NoError(t, err)
	st, ok := fi.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NoError(t, os.Lchown(path, int(st.Uid), int(st.Gid)))
}

func TestWatchBringsBackALostSupervisor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.launch(t, hostPlan{Options: p.options(), Watch: true})
	require.Empty(t, h.first.Error)
	require.NoError(t, syscall.Kill(h.first.Status.Supervisor, syscall.SIGKILL))
	notice := h.next(t)
	require.Empty(t, notice.Error)
	require.NotEqual(t, h.first.Status.Supervisor, notice.Status.Supervisor)
	require.Equal(t, 1, query[int](t, h.first.DSN, "select 1"))
	h.leave(t)
}
