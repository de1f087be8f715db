package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func testCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := open(t.Context())
	require.NoError(t, err)
	return c
}

// there looks up a database in a way of its own.
func there(t *testing.T, c *cluster, db string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.dsn("postgres"))
	require.NoError(t, err)
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "select count(*) from pg_database where datname = $1", db).Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n == 1
}

func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	return cfg.Database
}

func TestTheDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var db string
	t.Run("test", func(t *testing.T) {
		dsn := New(t, t.Name(), nil)
		db = databaseOf(t, dsn)
		require.True(t, there(t, testCluster(t), db))
		left, err := pgx.Connect(t.Context(), dsn) // is cut
		require.NoError(t, err)
		require.NoError(t, left.Ping(t.Context()))
	})
	require.False(t, there(t, testCluster(t), db))
}

func TestASetupThatFailsIsToldAndRunsAgain(t *testing.T) {
	t.Parallel()
	c := testCluster(t)
	bad := errors.New("no such table")
	_, err := c.clone(t.Context(), t.Name(), func(context.Context, string) error { return bad })
	require.ErrorIs(t, err, bad)
	db, err := c.clone(t.Context(), t.Name(), func(context.Context, string) error { return nil })
	require.NoError(t, err)
	require.NoError(t, c.drop(t.Context(), db))
}

func TestASetupThatKeepsAConnectionIsTold(t *testing.T) {
	t.Parallel()
	c := testCluster(t)
	var conn *pgx.Conn
	_, err := c.clone(t.Context(), t.Name(), func(ctx context.Context, dsn string) (err error) {
		conn, err = pgx.Connect(ctx, dsn)
		return err
	})
	require.ErrorContains(t, err, "did setup close its connections?")
	require.NoError(t, conn.Close(t.Context()))
}

func TestALostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	c := &cluster{dsn: testCluster(t).dsn, run: "lost" + fmt.Sprint(os.Getpid())}
	require.NoError(t, c.connect(t.Context()))
	first := c.conn
	db, err := c.clone(t.Context(), t.Name(), nil)
	require.NoError(t, err)
	require.NoError(t, first.Close(t.Context()))
	require.NoError(t, c.drop(t.Context(), db))
	require.NotSame(t, first, c.conn)
	require.NoError(t, c.conn.Close(t.Context()))
}

// Not parallel: templates of other tests may go, and are made again.
func TestOldTemplatesGo(t *testing.T) {
	c := testCluster(t)
	for i := range keepTemplates + 2 {
		db, err := c.clone(t.Context(), fmt.Sprint(t.Name(), i), nil)
		require.NoError(t, err)
		require.NoError(t, c.drop(t.Context(), db))
	}
	var n int
	require.NoError(t, c.conn.QueryRow(t.Context(), "select count(*) from pg_database where starts_with(datname, $1)",
		templatePrefix).Scan(&n))
	require.LessOrEqual(t, n, keepTemplates+1)
}

// childEnv makes TestChild do something; it names a file that says what was done.
const childEnv = "TASKQ_PGTEST_CHILD"

// TestChild is what the other tests run in further processes.
func TestChild(t *testing.T) {
	file := os.Getenv(childEnv)
	if file == "" {
		t.Skip("run by other tests")
	}
	dsn := New(t, "child "+file, func(context.Context, string) error {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString("setup\n")
		return errors.Join(err, f.Close())
	})
	require.NoError(t, os.WriteFile(fmt.Sprint(file, ".", os.Getpid()), []byte(databaseOf(t, dsn)), 0o600))
	if os.Getenv(childEnv+"_HANGS") != "" {
		select {}
	}
}

func child(t *testing.T, file string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestChild$")
	cmd.Env = append(append(os.Environ(), childEnv+"="+file), env...)
	return cmd
}

func TestSetupRunsOnceForAllProcesses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "once")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			out, err := child(t, file).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "setup\n", string(b))
}

func TestDatabasesOfKilledRunsAreSwept(t *testing.T) {
	t.Parallel()
	c := testCluster(t)
	file := filepath.Join(t.TempDir(), "killed")
	cmd := child(t, file, childEnv+"_HANGS=1")
	require.NoError(t, cmd.Start())
	var db string
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(fmt.Sprint(file, ".", cmd.Process.Pid))
		db = string(b)
		return err == nil && db != ""
	}, time.Minute, 5*time.Millisecond)
	sweeper := &cluster{dsn: c.dsn, run: "sweeper" + fmt.Sprint(os.Getpid())}
	require.NoError(t, sweeper.connect(t.Context()))
	require.NoError(t, sweeper.sweep(t.Context()))
	require.True(t, there(t, c, db), "its run lives")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool {
		require.NoError(t, sweeper.sweep(t.Context()))
		return !there(t, c, db)
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, sweeper.conn.Close(t.Context()))
}

func TestAGivenServerIsUsedInstead(t *testing.T) {
	t.Parallel()
	url := testCluster(t).dsn("template1") + "&application_name=given"
	file := filepath.Join(t.TempDir(), "given")
	out, err := child(t, file, EnvURL+"="+url).CombinedOutput()
	require.NoError(t, err, string(out))
	require.FileExists(t, file)

	out, err = child(t, file, EnvURL+"=secret").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), EnvURL+" is not a database url")
	require.NotContains(t, string(out), "secret")

	out, err = child(t, file, EnvURL+"=postgres://nobody@127.0.0.1:1/x").CombinedOutput()
	require.Error(t, err)
	require.True(t, strings.Contains(string(out), "127.0.0.1:1"), "it isn't passed over: %s", out)
}
