package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

func TestACommandsStdoutIsItsResult(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "cat")
	for _, c := range []struct{ name, declared, in, contentType string }{
		{"valid JSON", "", "{\"a\":1}\n", "application/json"},
		{"a bare number is JSON", "", "12", "application/json"},
		{"other text", "", "grüße, welt", "text/plain"},
		{"bytes", "", "\xff\xfe", "application/octet-stream"},
		{"text with a NUL is bytes", "", "a\x00b", "application/octet-stream"},
		{"what was declared", "text/csv", "1,2", "text/csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := m.Run(context.Background(), host.Attempt{Input: []byte("o" + c.in), ResultContentType: c.declared})
			require.Equal(t, host.Succeeded, out.Kind)
			require.Equal(t, c.in, string(out.Result))
			require.Equal(t, c.contentType, out.ContentType)
			require.Empty(t, out.Stdout, "a result isn't repeated")
		})
	}
	out := m.Run(context.Background(), host.Attempt{Input: []byte("o")})
	require.Equal(t, host.Succeeded, out.Kind)
	require.Nil(t, out.Result)
}

func TestACommandsResultMustBeWhatWasDeclared(t *testing.T) {
	t.Parallel()
	out := run(t, "cat", host.Attempt{Input: []byte("onope"), ResultContentType: "application/json"})
	require.Equal(t, abi.ClassUnencodableValue, out.Failure.Class)
	require.Equal(t, "nope", out.Stdout)
}

func TestAFailedCommandKeepsItsOutput(t *testing.T) {
	t.Parallel()
	out := run(t, "exit", host.Attempt{Input: []byte("3")})
	require.Equal(t, "out", out.Stdout)
	require.Equal(t, "err", out.Stderr)
}

func TestACommandSeesItsAttemptAndNothingElse(t *testing.T) {
	t.Parallel()
	out := run(t, "environment", host.Attempt{ResultContentType: "application/octet-stream", Meta: abi.Meta{
		JobID: "j1", Tenant: "acme", Queue: "q", Actor: "charge\x00", Attempt: 2, MaxAttempts: 5, DeadlineMS: 77,
		Headers: map[string]string{"traceparent": "00-ab", "cookie": "secret"},
	}})
	require.Equal(t, host.Succeeded, out.Kind, "%+v", out.Failure)
	require.Equal(t, []string{
		"charge",
		"TASKQ_JOB_ID=j1", "TASKQ_ATTEMPT=2", "TASKQ_MAX_ATTEMPTS=5", "TASKQ_TENANT=acme", "TASKQ_QUEUE=q", "TASKQ_ACTOR=charge",
		"TASKQ_DEADLINE_MS=77", "TASKQ_TRACEPARENT=00-ab", "",
	}, strings.Split(string(out.Result), "\x00"))
}

func TestControlLinesGiveACommandEveryOutcome(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "cat") // in pieces of 7 bytes
	for _, c := range []struct {
		name, stderr string
		kind         host.OutcomeKind
		delay        time.Duration
		consume      bool
		left         string // of stderr
	}{
		{"snooze", "@taskq {\"snooze_ms\":5000}\n", host.Snoozed, 5 * time.Second, false, ""},
		{"retry after", "@taskq {\"retry_after_ms\":7000}\n", host.RetryAfter, 7 * time.Second, true, ""},
		{"retry after, given back", "@taskq {\"retry_after_ms\":7000,\"consume_budget\":false}\n", host.RetryAfter, 7 * time.Second, false, ""},
		{"the last outcome counts", "@taskq {\"snooze_ms\":1}\n@taskq {\"retry_after_ms\":2}\n", host.RetryAfter, 2 * time.Millisecond, true, ""},
		{"without a newline at the end", "@taskq {\"snooze_ms\":5000}", host.Snoozed, 5 * time.Second, false, ""},
		{"with a carriage return", "@taskq {\"snooze_ms\":5000}\r\n", host.Snoozed, 5 * time.Second, false, ""},
		{"among other text", "one\n@taskq {\"snooze_ms\":5000}\ntwo\n", host.Snoozed, 5 * time.Second, false, "one\ntwo\n"},
		{"malformed is ordinary", "@taskq {\"snooze_ms\":-1}\n@taskq nonsense\n", host.Succeeded, 0, false, "@taskq {\"snooze_ms\":-1}\n@taskq nonsense\n"},
		{"not at the beginning of a line", "x @taskq {\"snooze_ms\":1}\n", host.Succeeded, 0, false, "x @taskq {\"snooze_ms\":1}\n"},
		{"only a part of the prefix", "@task\n@", host.Succeeded, 0, false, "@task\n@"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := m.Run(context.Background(), host.Attempt{Input: []byte("e" + c.stderr)})
			require.Equal(t, c.kind, out.Kind, "%+v", out.Failure)
			require.Equal(t, c.delay, out.Delay)
			require.Equal(t, c.consume, out.ConsumeBudget)
			require.Equal(t, c.left, out.Stderr)
		})
	}
}

func TestAControlLineMayBeLong(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "cat")
	record := func(stack int) string {
		return `@taskq {"fail":{"class":"X","message":"m","stack":"` + strings.Repeat("s", stack) + "\"}}\n"
	}
	out := m.Run(context.Background(), host.Attempt{Input: []byte("e" + record(200<<10))})
	require.Equal(t, host.Failed, out.Kind)
	require.Equal(t, "X", out.Failure.Class)
	require.Len(t, out.Failure.Stack, abi.MaxStack)
	require.Equal(t, []string{"stack"}, out.Failure.Truncated)
	require.Equal(t, 0, *out.Failure.ExitCode)

	out = m.Run(context.Background(), host.Attempt{Input: []byte("e" + record(abi.MaxFailure))})
	require.Equal(t, host.Succeeded, out.Kind, "longer than a record may be, it is ordinary stderr")
	require.Len(t, out.Stderr, abi.MaxStdio)
}

func TestProgressAndLogLinesActAtOnce(t *testing.T) {
	t.Parallel()
	s := &sink{}
	out := run(t, "cat", host.Attempt{Sink: s, Input: []byte("e" +
		"@taskq {\"progress\":{\"step\":\"one\"}}\n" +
		"@taskq {\"log\":{\"level\":\"error\",\"message\":\"m\",\"fields\":{\"n\":1}}}\n" +
		"@taskq {\"progress\":[1]}\n" +
		"ordinary\n{\"level\":\"warn\",\"msg\":\"shaped\",\"n\":2}\n")})
	require.Equal(t, host.Succeeded, out.Kind)
	require.Equal(t, []string{`{"step":"one"}`}, s.progress)
	require.Len(t, s.lines, 4)
	require.Equal(t, abi.LevelError, s.lines[0].Level)
	require.Equal(t, "m", s.lines[0].Message)
	require.Equal(t, map[string]any{"n": json.Number("1")}, s.lines[0].Fields)
	require.Equal(t, `@taskq {"progress":[1]}`, s.lines[1].Message, "progress is an object")
	require.Equal(t, "ordinary", s.lines[2].Message)
	require.Equal(t, map[string]any{"stream": "stderr"}, s.lines[2].Fields)
	require.Equal(t, abi.LevelWarn, s.lines[3].Level)
	require.Equal(t, "shaped", s.lines[3].Message)
	require.Equal(t, map[string]any{"n": json.Number("2"), "stream": "stderr"}, s.lines[3].Fields)
}

func TestAnOutcomeLineCountsOverTheExitCode(t *testing.T) {
	t.Parallel()
	out := run(t, "exit-control", host.Attempt{})
	require.Equal(t, host.Snoozed, out.Kind)
}
