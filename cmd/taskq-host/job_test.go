package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/client"
)

// served is a user with a server of their own, on a database of the test's.
func served(t *testing.T, actors ...string) *user {
	t.Helper()
	u := newUser(t, "TASKQ_DATABASE__URL="+emptyDatabase(t))
	u.start("dev", "--listen", "127.0.0.1:0").healthy()
	for _, a := range actors {
		u.ok("actor", "push", fixture(t, a+".wasm"))
	}
	return u
}

func TestAJobsWayByTheCommandLine(t *testing.T) {
	t.Parallel()
	u := served(t, "echo", "panic", "defer")

	r := u.runWith(`{"n": 1}`, "job", "enqueue", "echo", "--input", "-", "--wait")
	require.Equal(t, 0, r.code, r.stderr)
	require.Equal(t, "succeeded, attempt 1\nresult {\"n\":1}\n", r.stdout)

	r = u.run("job", "enqueue", "panic", "--max-attempts", "2", "--base", "20ms", "--jitter", "0", "--wait", "--json")
	require.Equal(t, exitFailed, r.code, "a job that failed fails its --wait")
	var failed client.Job
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &failed))
	require.Equal(t, 2, failed.Attempt)
	require.Equal(t, "GuestPanic", failed.ErrorClass)
	shown := u.ok("job", "show", failed.ID)
	require.Regexp(t, `(?m)^1 +failed .* 20ms +policy +GuestPanic: no stdio here$`, shown)
	require.Regexp(t, `(?m)^2 +failed .* policy +GuestPanic: no stdio here$`, shown)
	require.Regexp(t, `dead because +exhausted`, shown)

	id := strings.TrimSpace(u.ok("job", "enqueue", "echo", "--delay", "1h", "--tag", "later", "--priority", "0"))
	require.Contains(t, u.ok("job", "list", "--tag", "later", "--status", "scheduled"), id)
	require.NotContains(t, u.ok("job", "list", "--status", "succeeded"), id)
	require.Contains(t, u.ok("job", "cancel", id), "cancelled")
	require.Contains(t, u.ok("job", "cancel", id), "had ended before")
	r = u.run("job", "watch", id)
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "cancelled, attempt 0\n", r.stdout)

	var page client.JobPage
	require.NoError(t, json.Unmarshal([]byte(u.ok("job", "list", "--limit", "2", "--json")), &page))
	require.Len(t, page.Jobs, 2)
	require.NotEmpty(t, page.Next)
	require.NotContains(t, u.ok("job", "list", "--cursor", page.Next), page.Jobs[1].ID)
}

func TestActorsByTheCommandLine(t *testing.T) {
	t.Parallel()
	u := served(t, "echo")
	require.Contains(t, u.ok("actor", "push", fixture(t, "echo.wasm")), "version 1, unchanged")
	require.Contains(t, u.ok("actor", "push", fixture(t, "noop.wasm"), "--name", "echo", "--dry-run"), "would be accepted")
	require.Contains(t, u.ok("actor", "push", fixture(t, "noop.wasm"), "--name", "echo"), "echo version 2")
	require.Regexp(t, `version +2`, u.ok("actor", "show", "echo"))
	var list struct{ Actors []client.Actor }
	require.NoError(t, json.Unmarshal([]byte(u.ok("actor", "list", "--json")), &list))
	require.Len(t, list.Actors, 1)

	folder := filepath.Join(u.home, "modules")
	for _, name := range []string{"log", "loop"} {
		wasm, err := os.ReadFile(fixture(t, name+".wasm"))
		require.NoError(t, err)
		u.file(filepath.Join("modules", name+".wasm"), string(wasm))
	}
	u.file(filepath.Join("modules", "broken.wasm"), "\x00asm")
	r := u.run("actor", "push", folder)
	require.Equal(t, exitBadInput, r.code)
	require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
	require.Regexp(t, `broken.wasm: refused: .* \(rule [a-z_.]+\)`, r.stderr)
	require.Contains(t, r.stdout, "log version 1")
	require.Contains(t, r.stdout, "loop version 1", "what comes behind a refused one is pushed all the same")

	require.Contains(t, u.ok("actor", "delete", "echo"), "deleted echo")
	for _, args := range [][]string{{"actor", "delete", "echo"}, {"actor", "show", "echo"}, {"job", "show", "01890a5d-ac96-774b-bcce-b302099a8057"}} {
		r := u.run(args...)
		require.Equal(t, exitNotFound, r.code, r.stderr)
	}
}

func TestAnEnqueueThatBreaksARuleIsExitCode2(t *testing.T) {
	t.Parallel()
	u := served(t, "echo")
	huge := u.file("huge.json", `"`+strings.Repeat("x", 2<<20)+`"`)
	text := u.file("text", "not JSON")
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"no attempt", "--max-attempts: 0 isn't 1 to 32766", []string{"--max-attempts", "0"}},
		{"more attempts than are counted", "--max-attempts: 32767 isn't", []string{"--max-attempts", "32767"}},
		{"no delay at all", `--base: "0s" isn't a duration above 0`, []string{"--base", "0s"}},
		{"a cap below the base", "retry.cap", []string{"--base", "5s", "--cap", "1s"}},
		{"more jitter than delay", "retry.jitter", []string{"--jitter", "1.5"}},
		{"an unknown kind", "retry.kind", []string{"--retry-kind", "sometimes"}},
		{"a payload that is too large", "body.payload must be at most 1MiB", []string{"--input", huge}},
		{"a payload that isn't the JSON it says", "payload: isn't JSON", []string{"--input", text}},
		{"two payloads", "exclude each other", []string{"--input", text, "--payload", "1"}},
		{"a queue's name", "body.queue", []string{"--queue", "Pay/ments"}},
		{"a time without a zone", "--scheduled-at", []string{"--scheduled-at", "2031-01-02T03:04:05"}},
		{"a delay past the deadline", "schedule_to_close", []string{"--delay", "2h", "--schedule-to-close", "1h"}},
		{"a header without a value", "--header", []string{"--header", "traceparent"}},
		{"metadata that isn't an object", "--metadata", []string{"--metadata", "[1]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := u.run(append([]string{"job", "enqueue", "echo"}, c.args...)...)
			require.Equal(t, exitBadInput, r.code, r.stdout+r.stderr)
			require.Contains(t, r.stderr, c.says)
			require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
		})
	}
	require.Equal(t, exitBadInput, u.run("job", "enqueue", "Echo").code)
	require.Equal(t, exitBadInput, u.run("job", "list", "--status", "runnin").code)
	require.Equal(t, exitBadInput, u.run("job", "show", "17").code)
	r := u.run("job", "list", "--token-file", "tq_secret")
	require.Equal(t, exitBadInput, r.code)
	require.NotContains(t, r.stderr, "tq_secret")
	require.NotContains(t, u.ok("job", "list"), "echo", "nothing was stored")
}

func TestATokenIsSentToItsOwnServerOnly(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	require.NoError(t, contexts{Current: "http://127.0.0.1:1", Servers: map[string]access{"http://127.0.0.1:1": {Token: "tq_mine"}}}.keep(u.context(), "http://127.0.0.1:1", "tq_mine"))
	r := u.run("job", "list", "--server", "http://127.0.0.1:2")
	require.Equal(t, exitNoAccess, r.code)
	require.Contains(t, r.stderr, "there is none for http://127.0.0.1:2")
	require.Equal(t, exitUnreachable, u.run("job", "list").code, "its own isn't there")
}
