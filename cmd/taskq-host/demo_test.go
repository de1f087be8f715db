package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/plugins"
)

// actorsIn lays out committed actors as `make wasm` does; edit may change a
// manifest's text.
func actorsIn(t *testing.T, u *user, edit func(manifest string) string, names ...string) string {
	t.Helper()
	folder := filepath.Join(u.home, "actors")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	for _, name := range names {
		from := filepath.Join("..", "..", "plugins", name)
		wasm, err := os.ReadFile(filepath.Join(from, "actor.wasm"))
		require.NoError(t, err)
		manifest, err := os.ReadFile(filepath.Join(from, "manifest.json"))
		require.NoError(t, err)
		u.file(filepath.Join("actors", name+".wasm"), string(wasm))
		u.file(filepath.Join("actors", name+".json"), edit(string(manifest)))
	}
	return folder
}

func asItIs(manifest string) string { return manifest }

func TestDemoPrintsALineForEachJobAndEndsWellIfAllEndAsTheyShould(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	folder := actorsIn(t, u, asItIs, "c-cases", "c-noop", "as-cases", "rust-cases")
	actors, err := plugins.Load(os.DirFS(folder))
	require.NoError(t, err)
	want := map[string]string{}
	for _, a := range actors {
		for _, j := range a.Jobs {
			want[a.Actor+" "+j.Case] = j.Expect.Status
		}
	}

	got := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(u.ok("demo", "--json", "--actors", folder)))
	for lines.Scan() {
		var keys map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(lines.Bytes(), &keys))
		require.Equal(t, []string{"actor", "ancestors", "attempt", "case", "decided_by", "duration_ms", "error_class", "job_id", "language", "message", "status"},
			slices.Sorted(maps.Keys(keys)))
		var end demoEnd
		require.NoError(t, json.Unmarshal(lines.Bytes(), &end))
		got[end.Actor+" "+end.Case] = end.Status
	}
	require.Equal(t, want, got)
}

func TestDemoNamesWhatEndedOtherwise(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_DATABASE__URL="+emptyDatabase(t))
	folder := actorsIn(t, u, func(manifest string) string {
		return strings.Replace(manifest, `"status": "succeeded"`, `"status": "failed", "error_class": "Unheard"`, 1)
	}, "c-noop")
	for range 2 { // what the first one left is no obstacle
		r := u.run("demo", "--actors", folder)
		require.Equal(t, exitFailed, r.code, r.stdout+r.stderr)
		require.Contains(t, r.stderr, "taskq-host: demo: c-noop noop: status should be failed, is succeeded\n")
		require.Contains(t, r.stdout, "UNEXPECTED")
		require.NotContains(t, r.stdout, "\x1b")
	}
}

func TestDemoWithoutActorsSaysWhatToType(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r := u.run("demo", "--actors", u.home)
	require.Equal(t, exitBadInput, r.code)
	require.Contains(t, r.stderr, "make wasm")
}
