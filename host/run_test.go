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

func TestAnAttemptPushesItsResult(t *testing.T) {
	t.Parallel()
	out := run(t, "echo", host.Attempt{Input: []byte(`{"a": 1}`)})
	require.Equal(t, host.Succeeded, out.Kind)
	require.Equal(t, `{"a": 1}`, string(out.Result))
	require.Equal(t, "application/json", out.ContentType)
	require.EqualValues(t, 2, out.Usage.HostCalls)
	require.EqualValues(t, abi.PageSize, out.Usage.PeakMemory)
	require.Positive(t, out.Usage.Duration)
	require.LessOrEqual(t, out.Usage.Startup, out.Usage.Duration)
}

func TestNothingPushedIsNull(t *testing.T) {
	t.Parallel()
	out := run(t, "noop", host.Attempt{})
	require.Equal(t, host.Succeeded, out.Kind)
	require.Nil(t, out.Result)
	require.Equal(t, "application/json", out.ContentType)
}

func TestAResultIsHeldAgainstItsContentType(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "echo")
	for _, c := range []struct{ name, declared, in, want, warning string }{
		{"JSON is the default and must be valid", "", "{", "", ""},
		{"with parameters too", "application/json; charset=utf-8", "nope", "", ""},
		{"a suffix counts", "application/problem+json", "nope", "", ""},
		{"an escaped NUL in JSON stays", "", `"\u0000"`, `"\u0000"`, ""},
		{"stray bytes in JSON are repaired", "", "\"a\xff\"", "\"a\uFFFD\"", "U+FFFD"},
		{"text is repaired", "text/plain", "a\x00\xff", "a\uFFFD\uFFFD", "U+FFFD"},
		{"anything else is bytes", "application/octet-stream", "\x00\xff", "\x00\xff", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := m.Run(context.Background(), host.Attempt{Input: []byte(c.in), ResultContentType: c.declared})
			if c.want == "" {
				require.Equal(t, host.Failed, out.Kind)
				require.Equal(t, abi.ClassUnencodableValue, out.Failure.Class)
				require.Equal(t, []string{abi.ClassAlwaysTerminal}, out.Failure.Ancestors)
				return
			}
			require.Equal(t, host.Succeeded, out.Kind)
			require.Equal(t, c.want, string(out.Result))
			require.Equal(t, c.warning != "", len(out.Warnings) > 0)
		})
	}
}

func TestMetaTellsTheKindThatRuns(t *testing.T) {
	t.Parallel()
	out := run(t, "meta", host.Attempt{Meta: abi.Meta{JobID: "j", Kind: "nonsense", Attempt: 3, Config: json.RawMessage(`{"k":1}`)}})
	require.Equal(t, host.Succeeded, out.Kind)
	var meta abi.Meta
	require.NoError(t, json.Unmarshal(out.Result, &meta))
	require.Equal(t, abi.Meta{JobID: "j", Kind: abi.KindRun, Attempt: 3, Config: json.RawMessage(`{"k":1}`)}, meta)
}

func TestWhatAnEntryReturnsMeansWhatItsKindSays(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "returns")
	for _, c := range []struct {
		kind   abi.Kind
		value  string
		result string
		fails  bool
	}{
		{abi.KindRun, "0", "{}", false}, {abi.KindRun, "1", "", true}, {abi.KindRun, "7", "", true},
		{abi.KindHook, "0", "{}", false}, {abi.KindHook, "1", "", true},
		{abi.KindClassify, "0", "", false}, {abi.KindClassify, "1", "{}", false}, {abi.KindClassify, "2", "", true},
		{abi.KindCron, "0", "{}", false}, {abi.KindCron, "2", "", false}, {abi.KindCron, "1", "", true},
	} {
		out := m.Run(context.Background(), host.Attempt{Kind: c.kind, Input: []byte(c.value)})
		name := string(c.kind) + " " + c.value
		require.EqualValues(t, c.value[0]-'0', out.Returned, name)
		require.Equal(t, c.result, string(out.Result), name)
		if !c.fails {
			require.Equal(t, host.Succeeded, out.Kind, name)
			continue
		}
		require.Equal(t, host.Failed, out.Kind, name)
		require.Equal(t, abi.ClassGuestError, out.Failure.Class, name)
		require.Equal(t, "entry returned "+c.value, out.Failure.Message, name)
		require.EqualValues(t, c.value[0]-'0', *out.Failure.ExitCode, name)
	}
}

func TestAnEntryThatIsMissingIsTheModulesFault(t *testing.T) {
	t.Parallel()
	out := run(t, "noop", host.Attempt{Kind: abi.KindCron})
	require.Equal(t, abi.ClassAbiViolation, out.Failure.Class)
	require.Contains(t, out.Failure.Message, "cron")
}

func TestARecordedFailureCountsWhateverIsReturned(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "fail")
	for _, returned := range []string{"0", "1"} {
		out := m.Run(context.Background(), host.Attempt{Input: []byte(`{"class":"net.OpError","message":"refused\u0000","retryable":true}` + returned)})
		require.Equal(t, host.Failed, out.Kind)
		require.Equal(t, &abi.Failure{Class: "net.OpError", Message: "refused\uFFFD", Retryable: true, Origin: abi.OriginGuest}, out.Failure)
		require.Equal(t, returned == "0", len(out.Warnings) == 1)
	}
}

func TestANonsenseRecordEndsTheAttempt(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "fail")
	for _, record := range []string{`nonsense`, `{"class":1}`, `{"permanent":true,"retryable":true}`} {
		out := m.Run(context.Background(), host.Attempt{Input: []byte(record + "0")})
		require.Equal(t, abi.ClassAbiViolation, out.Failure.Class, record)
		require.Equal(t, []string{abi.ClassAlwaysTerminal}, out.Failure.Ancestors)
		require.Contains(t, out.Failure.Message, "fail: failure record: ")
	}
}

func TestAFailureRecordThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	record := `{"message":"` + strings.Repeat("x", abi.MaxFailure) + `"}`
	out := run(t, "fail", host.Attempt{Input: []byte(record + "5")})
	require.Equal(t, "entry returned 5", out.Failure.Message)
	require.Len(t, out.Warnings, 1)
}

func TestDeferrals(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "defer")
	for _, c := range []struct {
		in      string
		kind    host.OutcomeKind
		delay   time.Duration
		consume bool
	}{
		{"s", host.Snoozed, 5 * time.Second, false},
		{"r", host.RetryAfter, 7 * time.Second, true},
		{"k", host.RetryAfter, 7 * time.Second, false},
	} {
		out := m.Run(context.Background(), host.Attempt{Input: []byte(c.in)})
		require.Equal(t, c.kind, out.Kind)
		require.Equal(t, c.delay, out.Delay)
		require.Equal(t, c.consume, out.ConsumeBudget)
	}
	out := m.Run(context.Background(), host.Attempt{Input: []byte("n")})
	require.Equal(t, "entry returned -4", out.Failure.Message, "a negative delay is refused and the guest goes on")
}

func TestTheHeartbeatCarriesTheCallersBitsAndTheDeadline(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "heartbeat")
	beats := 0
	out := m.Run(context.Background(), host.Attempt{Heartbeat: func() uint32 {
		if beats++; beats < 10 {
			return 0
		}
		return abi.HeartbeatCancel | abi.HeartbeatLeaseLost | 1<<20
	}})
	require.Equal(t, "entry returned 9", out.Failure.Message, "only the contract's bits pass")
	require.Equal(t, 10, beats)
	out = m.Run(context.Background(), host.Attempt{Timeout: 5 * time.Second})
	require.Equal(t, "entry returned 4", out.Failure.Message)
}

func TestWhatComesBeforeTheEntryComesInOrder(t *testing.T) {
	t.Parallel()
	out := run(t, "prelude", host.Attempt{Input: []byte("x")})
	require.Equal(t, host.Succeeded, out.Kind, "%+v", out.Failure)
}

func TestAClassifierIsAPureFunctionOfItsInput(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	m := load(t, e, "pure")
	a := host.Attempt{Kind: abi.KindClassify, ResultContentType: "application/octet-stream", Meta: abi.Meta{JobID: "j"}}
	first := m.Run(context.Background(), a)
	require.Equal(t, host.Succeeded, first.Kind, "%+v", first.Failure)
	require.Equal(t, first.Result, m.Run(context.Background(), a).Result)
	minusTwo := []byte{0xfe, 0xff, 0xff, 0xff}
	require.Equal(t, append(append([]byte{}, minusTwo...), 0xff, 0xff, 0xff, 0xff), first.Result[:8], "now_ms")
	require.Equal(t, minusTwo, first.Result[8:12], "meta_read")
	require.Equal(t, minusTwo, first.Result[12:16], "random")
	require.Equal(t, make([]byte, 4), first.Result[16:20], "no bit of the heartbeat is set")

	out := load(t, e, "sleep").Run(context.Background(), host.Attempt{Kind: abi.KindClassify})
	require.Equal(t, host.Succeeded, out.Kind, "a classifier's sleep takes no time")
}

func TestHooksAndFactoriesCannotDefer(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "denied")
	for _, kind := range []abi.Kind{abi.KindHook, abi.KindCron} {
		out := m.Run(context.Background(), host.Attempt{Kind: kind})
		require.Equal(t, host.Succeeded, out.Kind, "%s: %+v", kind, out.Failure)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	manifest, err := load(t, e, "describe").Describe(context.Background())
	require.NoError(t, err)
	require.Equal(t, &abi.Manifest{Name: "charge", StartToClose: "30s", Capabilities: []string{"http"}}, manifest)
	_, err = load(t, e, "noop").Describe(context.Background())
	require.ErrorIs(t, err, host.ErrNoManifest)
	_, err = load(t, e, "denied").Describe(context.Background())
	require.Equal(t, host.RuleDescribe, requireRefusal(t, err).Rule)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(host.ErrInterrupted)
	_, err = load(t, e, "describe").Describe(ctx)
	require.ErrorIs(t, err, host.ErrInterrupted)
}
