//go:build linux || darwin

package embedpg_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
)

// lineToType is how each error of a folder ends.
const lineToType = "TASKQ_PG_DIR=/another/folder taskq-host dev"

func TestDataOfAnotherMajorVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.MkdirAll(p.file("data"), 0o700))
	require.NoError(t, os.WriteFile(p.file("data/PG_VERSION"), []byte("99\n"), 0o600))
	before := snapshot(t, p.file("data"))
	_, err := embedpg.Start(t.Context(), p.options())
	var missing *embedpg.MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 99, missing.Major)
	require.Equal(t, p.file("data"), missing.Data)
	require.NotEmpty(t, missing.Found)
	require.Contains(t, err.Error(), "is of PostgreSQL 99, which is not installed")
	require.Equal(t, before, snapshot(t, p.file("data")))
}

func TestWhatIsNoClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.MkdirAll(p.file("data"), 0o700))
	require.NoError(t, os.WriteFile(p.file("data/diary.txt"), []byte("dear diary"), 0o600))
	before := snapshot(t, p.file("data"))
	_, err := embedpg.Start(t.Context(), p.options())
	require.ErrorContains(t, err, "is no cluster of PostgreSQL and not empty")
	require.Equal(t, before, snapshot(t, p.file("data")))
}

func TestAFolderThatIsClosedToTheUser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	parent := filepath.Dir(p.dir)
	if os.Geteuid() == 0 {
		p.user = ordinaryUser(t) // the parent is root's
	} else {
		require.NoError(t, os.Chmod(parent, 0o500))
		t.Cleanup(func() { require.NoError(t, os.Chmod(parent, 0o700)) })
	}
	h := p.launch(t, hostPlan{Options: p.options()})
	require.Contains(t, h.first.Error, "is closed to this user")
	require.True(t, strings.HasSuffix(h.first.Error, lineToType), h.first.Error)
}

// mounted is a place on a file system of its own.
func mounted(t *testing.T, options string) place {
	t.Helper()
	p := newPlace(t)
	parent := filepath.Dir(p.dir)
	mount(t, parent, options)
	require.NoError(t, os.Chmod(parent, 0o711))
	t.Cleanup(func() {
		if _, err := os.Stat(p.dir); err == nil {
			p.awaitStop(t)
		}
		unmount(t, parent)
	})
	return p
}

func TestAReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	p := mounted(t, "size=8m")
	require.NoError(t, os.Mkdir(p.dir, 0o711))
	remountReadOnly(t, filepath.Dir(p.dir))
	_, err := embedpg.Start(t.Context(), p.options())
	var bad *embedpg.FolderError
	require.ErrorAs(t, err, &bad)
	require.ErrorIs(t, err, syscall.EROFS)
	require.Equal(t, "is on a read-only file system", bad.Problem)
	require.True(t, strings.HasSuffix(err.Error(), lineToType), err)
}

func TestAFullFileSystem(t *testing.T) {
	t.Parallel()
	p := mounted(t, "size=8m")
	_, err := embedpg.Start(t.Context(), p.options())
	var bad *embedpg.FolderError
	require.ErrorAs(t, err, &bad)
	require.Contains(t, bad.Problem, "is full")
	require.NotContains(t, err.Error(), "()")
	require.True(t, strings.HasSuffix(err.Error(), lineToType), err)
}

func TestAFileSystemThatFillsUpLater(t *testing.T) {
	t.Parallel()
	p := mounted(t, "size=200m")
	s := p.start(t, p.options())
	require.NoError(t, s.Close())
	p.awaitStop(t)
	filler, err := os.Create(p.file("filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = filler.Write(make([]byte, 1<<16))
	}
	for err = nil; err == nil; {
		_, err = filler.Write([]byte{0})
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, filler.Close())

	_, err = embedpg.Start(t.Context(), p.options())
	var bad *embedpg.FolderError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "is full", bad.Problem)

	require.NoError(t, os.Remove(p.file("filler")))
	s = p.start(t, p.options())
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.NoError(t, s.Close())
}

func TestNamesThatDontFitIntoASocketsAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, dir string }{
		{"too long", strings.Repeat("long", 30)},
		{"with a comma", "a,b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.dir = filepath.Join(filepath.Dir(p.dir), c.dir)
			s := p.start(t, p.options())
			where := query[string](t, s.DSN("postgres"), "show unix_socket_directories")
			require.Regexp(t, `^"?/tmp/taskq-pg-\d+-[0-9a-f]{12}"?$`, where)
			require.NoError(t, s.Close())
			p.awaitStop(t)
			require.NoDirExists(t, strings.Trim(where, `"`))
		})
	}
}

func TestANameWithASpace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.dir = filepath.Join(filepath.Dir(p.dir), "a b%c'd*")
	s := p.start(t, p.options())
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.DirExists(t, p.file("sock"))
	require.NoError(t, s.Close())
}

func TestRootLeavesAUsersFolderToTheUser(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownedBy(t, ordinaryUser(t))
	uid := p.user.Uid
	require.NoError(t, os.Mkdir(p.dir, 0o711))
	require.NoError(t, os.Chown(p.dir, int(uid), int(p.user.Gid)))
	s := p.start(t, p.options()) // by root
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.NoError(t, s.Close())
	p.awaitStop(t)
	entries, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	for _, e := range entries {
		fi, err := e.Info()
		require.NoError(t, err)
		st, ok := fi.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.Equal(t, uid, st.Uid, e.Name())
	}
	h := p.up(t) // by the user
	require.True(t, h.first.Started)
	h.leave(t)
}

func TestAnotherUsersDataIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.user = ordinaryUser(t)
	s := p.start(t, p.options()) // by root
	require.NoError(t, s.Close())
	h := p.launch(t, hostPlan{Options: p.options()})
	require.Contains(t, h.first.Error, "is closed to this user")
}
