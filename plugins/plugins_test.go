package plugins_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/plugins"
)

// TestEveryManifestOfTheSourceTreeIsValid needs no compiled module.
func TestEveryManifestOfTheSourceTreeIsValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/manifest.json")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		p, err := plugins.Parse(text)
		require.NoError(t, err, file)
		require.Equal(t, filepath.Dir(file), p.Actor, "a folder is named as its actor")
		for _, j := range p.Jobs {
			seen[j.Case] = true
		}
	}
	for _, c := range []string{
		"ok", "typed-error", "panic", "exit-3", "endless-loop", "recursion", "memory-bomb", "stack-overflow", "snooze-twice",
		"retry-after", "fails-twice", "result-too-large", "bad-pointer", "deadlock", "huge-log",
	} {
		require.True(t, seen[c], "no actor has the case %s", c)
	}
}

const small = `{"actor":"a","language":"Go","mode":"reactor","about":"x","jobs":[{"case":"ok","about":"y","payload":{},"enqueue":{},"expect":{"status":"succeeded","attempt":1}}]}`

func TestLoadReadsManifestsWithTheirModules(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{
		"b.json": {Data: []byte(strings.Replace(small, `"a"`, `"b"`, 1))}, "b.wasm": {Data: []byte("B")},
		"a.json": {Data: []byte(small)}, "a.wasm": {Data: []byte("A")}, "README": {},
	}
	all, err := plugins.Load(dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "a", all[0].Actor)
	require.Equal(t, abi.Reactor, all[0].Mode)
	require.Equal(t, "B", string(all[1].Module))
}

func TestLoadNamesTheFileAndTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"an unknown field", `"about":"x"`, `"abuot":"x"`, `a.json: json: unknown field "abuot"`},
		{"a name with capitals", `"a"`, `"A"`, "a.json: actor: must match"},
		{"another file's name", `"a"`, `"b"`, `a.json: actor: "b" stands in the file of "a"`},
		{"no language", `"Go"`, `""`, "a.json: language: is missing"},
		{"no such mode", `"reactor"`, `"both"`, "a.json: mode: must be reactor or command"},
		{"no job", `"jobs":[{`, `"jobs":[],"_":[{`, "unknown field"},
		{"no case", `"ok"`, `""`, "a.json: jobs[0].case: must match"},
		{"no payload", `"payload":{},`, ``, "a.json: jobs[0].payload: is missing"},
		{"no such status", `"succeeded"`, `"won"`, "a.json: jobs[0].expect.status: must be one of"},
		{"no attempt", `"attempt":1`, `"attempt":0`, "a.json: jobs[0].expect.attempt: counts from 1"},
		{"a failure of a success", `"attempt":1`, `"attempt":1,"error_class":"X"`, "a.json: jobs[0].expect.error_class"},
		{"text behind it", `]}`, `]} {}`, "a.json: something stands after the manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			broken := strings.Replace(small, c.old, c.new, 1)
			require.NotEqual(t, small, broken)
			_, err := plugins.Load(fstest.MapFS{"a.json": {Data: []byte(broken)}, "a.wasm": {Data: []byte("A")}})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestLoadNeedsTheModules(t *testing.T) {
	t.Parallel()
	_, err := plugins.Load(fstest.MapFS{"a.json": {Data: []byte(small)}})
	require.ErrorContains(t, err, "a.json: its module:")
	_, err = plugins.Load(fstest.MapFS{})
	require.ErrorContains(t, err, "make wasm")
}

func TestDifferencesAreNamed(t *testing.T) {
	t.Parallel()
	want := plugins.Expect{Status: "failed", Attempt: 2, ErrorClass: "A", Ancestors: []string{"B"}, Message: "oo", DecidedBy: "policy"}
	got := plugins.Ending{Status: "failed", Attempt: 2, ErrorClass: "A", Ancestors: []string{"X", "B"}, Message: "boom", DecidedBy: "policy"}
	require.Nil(t, want.Differences(got))
	require.Len(t, want.Differences(plugins.Ending{}), 6)
	require.Equal(t, []string{`message should be with "oo", is "bam"`},
		want.Differences(plugins.Ending{Status: "failed", Attempt: 2, ErrorClass: "A", Ancestors: []string{"B"}, Message: "bam", DecidedBy: "policy"}))
	ok := plugins.Expect{Status: "succeeded", Attempt: 3}
	require.Nil(t, ok.Differences(plugins.Ending{Status: "succeeded", Attempt: 3, ErrorClass: "the last failure's"}))
}
