package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing but the exit code and one line on stderr tells a script what it did
// wrong.
func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	huge := u.file("huge.json", strings.Repeat("1", 2<<20))
	text := u.file("text.json", "not JSON")
	notWasm := u.file("readme.wasm", "# not a module")
	echo := fixture(t, "echo.wasm")
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"an unknown command gets the nearest one", `unknown command "versin", did you mean version?`, []string{"versin"}},
		{"an unknown command of a group", `config: unknown command "shwo", did you mean show?`, []string{"config", "shwo"}},
		{"a command far from any gets the list", `config: unknown command "zzzzzz"; known are check, show`, []string{"config", "zzzzzz"}},
		{"the command is complained about before its flags", `unknown command "migrat", did you mean migrate?`, []string{"migrat", "--sqll"}},
		{"an unknown flag gets the nearest one", "migrate: unknown flag --sqll, did you mean --sql?", []string{"migrate", "--sqll"}},
		{"a flag without its value", "flag needs an argument: --schema", []string{"migrate", "--schema"}},
		{"an argument too many", `version: unexpected argument "now"`, []string{"version", "now"}},
		{"an argument too few", "actor run: <file.wasm> is missing", []string{"actor", "run"}},
		{"a log level", `--log-level: "loud" is none of`, []string{"migrate", "--log-level", "loud"}},
		{"an unknown key", `--set: unknown key "worker.concurency", did you mean worker.concurrency?`, []string{"config", "check", "--set", "worker.concurency=1"}},
		{"a value out of range", "worker.concurrency", []string{"config", "check", "--set", "worker.concurrency=0"}},
		{"a password in argv", "a password on the command line", []string{"migrate", "--set", "database.url=postgres://me:secret@db/x"}},
		{"a configuration file that isn't there", "nowhere.yaml", []string{"migrate", "--config", "nowhere.yaml"}},
		{"a module that isn't there", "no such file", []string{"actor", "run", "nowhere.wasm"}},
		{"a module that isn't one", "refused: ", []string{"actor", "run", notWasm}},
		{"a payload that isn't JSON", "--input: isn't JSON", []string{"actor", "run", echo, "--input", text}},
		{"a payload that is too large", "--input: " + huge + " holds more than 1MiB", []string{"actor", "run", echo, "--input", huge}},
		{"an entry", `--entry: "main" is none of run, `, []string{"actor", "run", echo, "--entry", "main"}},
		{"a timeout", `--timeout: "soon" isn't a duration`, []string{"actor", "run", echo, "--timeout", "soon"}},
		{"a memory limit", `--memory: "1KiB" isn't a size of at least 64KiB`, []string{"actor", "run", echo, "--memory", "1KiB"}},
		{"a fact", `--meta: unknown key "atempt", did you mean attempt?`, []string{"actor", "run", echo, "--meta", "atempt=2"}},
		{"a fact's value", `--meta attempt: "two" isn't a whole number`, []string{"actor", "run", echo, "--meta", "attempt=two"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := u.run(c.args...)
			require.Equal(t, exitBadInput, r.code, r.stderr)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, c.says)
			require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
			require.True(t, strings.HasPrefix(r.stderr, "taskq-host: "), r.stderr)
		})
	}
}

func TestEveryCommandHelpsAndAGroupAloneDoesToo(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	require.Contains(t, u.ok(), "Available Commands:")
	require.Contains(t, u.ok("config"), "Available Commands:")
	require.Contains(t, u.ok("actor", "run", "--help"), "--timeout")
	require.Contains(t, u.ok("completion", "bash"), "bash completion")
	require.NotContains(t, u.ok("--help"), compileWorkerName, "a hidden command")
}

func TestVersionSaysTheABI(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	require.Contains(t, u.ok("version"), "abi taskq_v1")
	var r release
	require.NoError(t, json.Unmarshal([]byte(u.ok("version", "--json")), &r))
	require.Equal(t, "taskq_v1", r.ABI)
	require.NotEmpty(t, r.Version)
}

func TestConfigIsCheckedAsAWhole(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	bad := u.file("bad.yaml", "worker: {concurency: 1}\nlease: {lock_lease: soon}\n")
	r := u.run("config", "check", bad)
	require.Equal(t, exitBadInput, r.code)
	require.Contains(t, r.stderr, "worker.concurency: unknown, did you mean concurrency")
	require.Contains(t, r.stderr, "lease.lock_lease")

	r = u.run("config", "check", "--json", bad)
	require.Equal(t, exitBadInput, r.code)
	var answer struct {
		OK       bool
		Problems []struct{ Path string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &answer))
	require.False(t, answer.OK)
	require.Len(t, answer.Problems, 2)

	u.file("taskq.yaml", "worker: {concurrency: 7}\n")
	require.Contains(t, u.ok("config", "check"), "ok: taskq.yaml")
}

func TestConfigShowNamesTheLayerAndRedacts(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_DATABASE__URL=postgres://me:secret@db/x")
	u.file("taskq.yaml", "worker: {concurrency: 7}\n")
	said := u.ok("config", "show", "--why", "--set", "lease.lock_lease=90s")
	require.Regexp(t, `worker\.concurrency +7 +taskq\.yaml`, said)
	require.Regexp(t, `lease\.lock_lease +1m30s +flag`, said)
	require.Regexp(t, `database\.url +postgres://me:xxxxx@db/x +env TASKQ_DATABASE__URL`, said)
	require.NotContains(t, said, "secret")
	require.NotContains(t, said, "built-in")
	require.Regexp(t, `server\.listen +127\.0\.0\.1:8420 +built-in`, u.ok("config", "show", "--effective", "--why"))

	var rows []struct{ Path, Origin string }
	require.NoError(t, json.Unmarshal([]byte(u.ok("config", "show", "--json")), &rows))
	require.Len(t, rows, 2)
}

func TestASchemaCanBePrintedWithoutADatabase(t *testing.T) {
	t.Parallel()
	u := newUser(t, "TASKQ_PG_BIN="+filepath.Join("/", "nowhere"))
	sql := u.ok("migrate", "--sql", "--schema", "jobs")
	require.Contains(t, sql, "CREATE SCHEMA IF NOT EXISTS jobs;")
	require.NotContains(t, sql, "taskq.")
}
