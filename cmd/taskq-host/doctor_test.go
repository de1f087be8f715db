package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// examine runs the doctor and answers its findings by check.
func examine(t *testing.T, u *user, code int, args ...string) map[string]finding {
	t.Helper()
	r := u.run(append([]string{"doctor", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	require.Equal(t, code, r.code, r.stdout+r.stderr)
	var list []finding
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
	found := map[string]finding{}
	for _, f := range list {
		found[f.Check] = f
	}
	return found
}

func TestDoctorFindsNothingOnAFreshMachineAndMakesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	found := examine(t, u, 0)
	for check, f := range found {
		require.Equal(t, checkOK, f.Status, "%s: %s", check, f.Detail)
	}
	require.Len(t, found, 8)
	left, err := os.ReadDir(u.home)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDoctorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, busy.Close()) })
	u := newUser(t)
	openCache := filepath.Join(u.home, "open-cache")
	require.NoError(t, os.Mkdir(openCache, 0o700))
	require.NoError(t, os.Chmod(openCache, 0o777)) // #nosec G302 -- what the doctor must find
	for _, c := range []struct {
		name, check, detail, do string
		args                    []string
	}{
		{"a port in use", "port", busy.Addr().String(), "--listen", []string{"--listen", busy.Addr().String()}},
		{"a configuration that is wrong", "config", "worker.concurrency", "config check", []string{"--set", "worker.concurrency=0"}},
		{"no Postgres where it was said to be", "postgres", "/nowhere", "", []string{"--postgres-bin", "/nowhere"}},
		{"a database that is down", "database", "connect", "database.url", []string{"--set", "database.url=postgres://127.0.0.1:1/x"}},
		{"a schema that was never made", "database", "isn't up to date", "taskq-host migrate", []string{"--set", "database.url=" + emptyDatabase(t)}},
		{"a folder that can't be made", "data folder", "isn't a folder", "--data-dir", []string{"--data-dir", filepath.Join(u.file("file", ""), "pg")}},
		{"a cache that others can write", "cache folder", "mode 0777", "chmod 700 " + openCache, []string{"--cache-dir", openCache}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := examine(t, u, exitFailed, c.args...)[c.check]
			require.Equal(t, checkFail, f.Status)
			require.Contains(t, f.Detail, c.detail)
			require.Contains(t, f.Do, c.do)
		})
	}
}

func TestDoctorExpectsNoSchemaInAnEmbeddedPostgresThatOnlyADemoUsed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ok("demo", "--actors", actorsIn(t, u, asItIs, "c-noop"))
	f := examine(t, u, 0)["database"]
	require.Equal(t, checkOK, f.Status)
	require.Contains(t, f.Detail, "the next taskq-host dev makes or updates schema taskq")
}

func TestDoctorKnowsAContextFileThatOthersCanRead(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	require.NoError(t, replaceFile(u.context(), []byte(`{}`)))
	require.Equal(t, checkOK, examine(t, u, 0)["context file"].Status)
	require.NoError(t, os.Chmod(u.context(), 0o644)) // #nosec G302 -- what the doctor must find
	f := examine(t, u, exitFailed)["context file"]
	require.Equal(t, "type: chmod 600 "+u.context(), f.Do)
}
