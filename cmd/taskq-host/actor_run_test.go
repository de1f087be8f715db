package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outcomeOf runs a fixture and reads what --json printed.
func outcomeOf(t *testing.T, u *user, code int, args ...string) outcomeJSON {
	t.Helper()
	r := u.run(append([]string{"actor", "run", "--json"}, args...)...)
	require.Equal(t, code, r.code, r.stdout+r.stderr)
	var o outcomeJSON
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &o))
	return o
}

func TestActorRunPrintsWhatBecameOfTheAttempt(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	input := u.file("in.json", `{"name":"you"}`)
	for _, c := range []struct {
		name, fixture string
		code          int
		check         func(t *testing.T, o outcomeJSON)
	}{
		{"a result", "echo.wasm", 0, func(t *testing.T, o outcomeJSON) {
			require.JSONEq(t, `{"name":"you"}`, string(o.Result))
			require.Positive(t, o.HostCalls)
			require.Positive(t, o.PeakMemory)
			require.Positive(t, o.DurationMS)
		}},
		{"an endless loop", "loop.wasm", exitFailed, func(t *testing.T, o outcomeJSON) {
			require.Equal(t, "TimeoutError", o.Failure.Class)
			require.True(t, o.Failure.TimedOut)
		}},
		{"a panic", "panic.wasm", exitFailed, func(t *testing.T, o outcomeJSON) {
			require.Equal(t, "GuestPanic", o.Failure.Class)
			require.Equal(t, "no stdio here", o.Failure.Message)
		}},
		{"an exit", "exit-reactor.wasm", exitFailed, func(t *testing.T, o outcomeJSON) {
			require.Equal(t, "GuestExit", o.Failure.Class)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{fixture(t, c.fixture), "--input", input, "--timeout", "500ms"}
			o := outcomeOf(t, u, c.code, args...)
			require.Equal(t, []string{"succeeded", "failed"}[c.code], o.Outcome)
			c.check(t, o)

			people := u.run(append([]string{"actor", "run"}, args...)...)
			require.Equal(t, c.code, people.code)
			require.Regexp(t, `outcome +`+o.Outcome, people.stdout)
			require.NotContains(t, people.stdout, "\x1b", "colours in a pipe")
		})
	}
}

func TestActorRunReadsThePayloadFromStdin(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r := u.runWith(`[1, 2]`, "actor", "run", fixture(t, "echo.wasm"), "--input", "-")
	require.Equal(t, 0, r.code, r.stderr)
	require.Regexp(t, `result +\[1, 2\]`, r.stdout)
}

func TestActorRunIsStoppedByCtrlC(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var out strings.Builder
	cmd := u.command("actor", "run", ownFixture(t, "log-then-loop.wasm"), "--timeout", "none")
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "log info: here\n", line, "the guest says so while it runs")

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitFailed, exit.ExitCode())
	require.Regexp(t, `outcome +stopped`, out.String())
}

func TestActorCheckNamesWhatAModuleIsAndWhyItIsRefused(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	said := u.ok("actor", "check", fixture(t, "echo.wasm"))
	require.Regexp(t, `mode +reactor`, said)
	require.Regexp(t, `entries +run`, said)
	require.Contains(t, said, "taskq_v1.input_read")
	require.Regexp(t, `poolable +true`, said)

	component := u.file("component.wasm", "\x00asm\x0d\x00\x01\x00")
	r := u.run("actor", "check", component)
	require.Equal(t, exitBadInput, r.code)
	require.Contains(t, r.stderr, "component")

	r = u.run("actor", "check", "--json", component)
	require.Equal(t, exitBadInput, r.code)
	require.Empty(t, r.stderr)
	var answer checkAnswer
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &answer))
	require.False(t, answer.Accepted)
	require.NotEmpty(t, answer.Refusal.Rule)
}
