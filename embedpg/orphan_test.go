//go:build linux || darwin

package embedpg_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
)

func TestAPostgresWithoutASupervisorIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, p.options())
	require.NoError(t, s.Close())
	p.awaitStop(t)

	bin, err := embedpg.Find(t.Context(), p.options())
	require.NoError(t, err)
	data := p.file("data")
	orphan := exec.Command(filepath.Join(bin.Dir, "postgres"), "-D", data, "-k", p.file("sock"), "-c", "listen_addresses=")
	orphan.Dir = data
	fi, err := os.Stat(data)
	require.NoError(t, err)
	st, ok := fi.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	if os.Geteuid() == 0 {
		orphan.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: st.Uid, Gid: st.Gid}}
	}
	require.NoError(t, orphan.Start())
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	require.Eventually(t, func() bool {
		_, err := os.Stat(p.file("data/postmaster.pid"))
		return err == nil
	}, 30*time.Second, 2*time.Millisecond)

	s = p.start(t, p.options())
	require.True(t, s.Started())
	require.NoError(t, <-ended, "a shutdown in good order")
	status, err := s.Status()
	require.NoError(t, err)
	require.True(t, status.Ready)
	require.NotEqual(t, orphan.Process.Pid, status.Postmaster)
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.NoError(t, s.Close())
}

func TestOnSIGTERMTheSupervisorLetsUsersDrain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.up(t)
	require.NoError(t, syscall.Kill(h.first.Status.Supervisor, syscall.SIGTERM))
	require.Equal(t, 1, query[int](t, h.first.DSN, "select 1 from pg_sleep(0.1)"))
	require.Equal(t, 1, query[int](t, h.first.DSN, "select 1"), "new connections too")
	h.leave(t)
	p.awaitStop(t)
}

func TestAPostgresThatKeepsDyingIsGivenUpAndSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.launch(t, hostPlan{Options: p.options(), Watch: true})
	require.Empty(t, h.first.Error)
	control := p.file("data/global/pg_control")
	require.NoError(t, os.Rename(control, control+".away"))
	require.NoError(t, syscall.Kill(h.first.Status.Postmaster, syscall.SIGKILL))
	notice := h.next(t)
	require.Contains(t, notice.Error, "postgres didn't start")
	require.Contains(t, notice.Error, "pg_control", "in postgres' own words")

	require.NoError(t, os.Rename(control+".away", control))
	for notice.Error != "" {
		notice = h.next(t)
	}
	require.True(t, notice.Status.Ready, "and it comes back when it can")
	require.Equal(t, 1, query[int](t, h.first.DSN, "select 1"))
	h.leave(t)
}
