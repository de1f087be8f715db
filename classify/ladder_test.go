package classify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func TestABrokenClassifierIsLoggedCountedAndSkipped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		broken  classify.Classifier
		want    classify.Breakage
		message string
	}{
		{"an error", breaks("x", errors.New("GuestTrap.Unreachable")), classify.BreakageError, "GuestTrap.Unreachable"},
		{"a panic", panics("x"), classify.BreakagePanic, "out of bounds"},
		{"a timeout", breaks("x", fmt.Errorf("run: %w", context.DeadlineExceeded)), classify.BreakageTimeout, "deadline"},
		{"a negative delay", answers("x", &classify.Override{Delay: ptr(ms(-1))}), classify.BreakageNonsense, "delay_ms"},
		{"an unknown kind", answers("x", &classify.Override{Kind: "sometimes"}), classify.BreakageNonsense, "kind"},
		{"spread beyond one", answers("x", &classify.Override{Delay: ptr(ms(1)), Spread: 2}), classify.BreakageNonsense, "spread"},
		{"an answer that can't be read", classifier{"x", func(classify.Question) (*classify.Override, error) { return classify.ParseAnswer([]byte(`[]`)) }}, classify.BreakageNonsense, "object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			counted := map[string]int{}
			l := ladder()
			l.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn, JSONFormat: true})
			l.Broken = func(name string, how classify.Breakage) { counted[name+" "+string(how)]++ }
			l.Chain = classify.Chain{c.broken, answers("next", &classify.Override{Delay: ptr(2 * time.Second)})}
			in := failed("A", 1)
			in.LogKeys = []any{"tenant", "acme", "job", "j1"}
			d := l.Decide(t.Context(), in)
			require.Equal(t, "classifier:next", d.DecidedBy)
			require.Equal(t, map[string]int{"x " + string(c.want): 1}, counted)
			var line map[string]any
			require.NoError(t, json.Unmarshal(log.Bytes(), &line), "one line an event: %s", log.String())
			require.Equal(t, "warn", line["@level"])
			require.Equal(t, "x", line["classifier"])
			require.Equal(t, "acme", line["tenant"])
			require.Contains(t, line["error"], c.message)
		})
	}
}

func TestNoOpinionIsNotBroken(t *testing.T) {
	t.Parallel()
	l := ladder()
	l.Broken = func(name string, _ classify.Breakage) { t.Errorf("%s is counted", name) }
	l.Chain = classify.Chain{answers("nil", nil), answers("empty", &classify.Override{Reason: "hm"})}
	l.Mapper = maps(&classify.Verdict{})
	require.Equal(t, classify.ByPolicy, l.Decide(t.Context(), failed("A", 1)).DecidedBy)
}

func TestABrokenMapperHasNoOpinion(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mapper{
		"a panic":  func(classify.Question) (*classify.Verdict, error) { panic("x") },
		"an error": func(classify.Question) (*classify.Verdict, error) { return nil, errors.New("x") },
		"nonsense": maps(&classify.Verdict{Snooze: ptr(ms(-1))}),
		"an override of a success has nothing to retry": func(q classify.Question) (*classify.Verdict, error) {
			return &classify.Verdict{Override: classify.Override{Kind: "sometimes"}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := 0
			l := ladder()
			l.Broken = func(string, classify.Breakage) { count++ }
			l.Mapper = m
			require.Equal(t, classify.ByPolicy, l.Decide(t.Context(), failed("A", 1)).DecidedBy)
			d := l.Decide(t.Context(), classify.Input{Ending: classify.Succeeded, Policy: plain(), Attempt: 1})
			require.Equal(t, classify.Decision{Action: classify.Succeed, Kind: retry.Transient}, d)
			require.Equal(t, 2, count)
		})
	}
}

func TestAMapperSaysWhatAnEndMeans(t *testing.T) {
	t.Parallel()
	success := classify.Input{Ending: classify.Succeeded, Result: []byte(`{"ok":false}`), Policy: plain(), Attempt: 1}
	for _, c := range []struct {
		name    string
		in      classify.Input
		verdict classify.Verdict
		want    string // action, kind, dead reason, delay
		class   string // of the recorded failure
	}{
		{"a failure is a success", failed("A", 3), classify.Verdict{Succeed: []byte(`1`)}, "succeed transient,  0s", ""},
		{"a success is a failure, and retried", success, classify.Verdict{Fail: &abi.Failure{Class: "B"}}, "retry transient,  5s", "B"},
		{"whose mark counts", success, classify.Verdict{Fail: &abi.Failure{Class: "B", Permanent: true}}, "fail transient, non_retryable 0s", "B"},
		{"or its kind", success, classify.Verdict{Fail: &abi.Failure{Class: "B"}, Override: classify.Override{Kind: retry.NonRetryable}}, "fail non_retryable, non_retryable 0s", "B"},
		{"or its delay", success, classify.Verdict{Fail: &abi.Failure{Class: "B"}, Override: classify.Override{Delay: ptr(ms(7000))}}, "retry transient,  7s", "B"},
		{"or its class", success, classify.Verdict{Fail: &abi.Failure{Class: abi.ClassPayloadValidation}}, "fail transient, payload_invalid 0s", abi.ClassPayloadValidation},
		{"its budget is the policy's", failed("A", 3), classify.Verdict{Fail: &abi.Failure{Class: "B", Retryable: true}}, "fail transient, exhausted 0s", "B"},
		{"a success is snoozed", success, classify.Verdict{Snooze: ptr(ms(2000))}, "snooze transient,  2s", ""},
		{"a failure is retried at a time", failed("A", 1), classify.Verdict{RetryAfter: ptr(ms(2000)), ConsumeBudget: true}, "retry_after transient,  2s", ""},
		{"if there is a budget", failed("A", 3), classify.Verdict{RetryAfter: ptr(ms(2000)), ConsumeBudget: true}, "fail transient, exhausted 0s", abi.ClassMaxAttemptsExceeded},
		{"an override", failed("A", 3), classify.Verdict{Override: classify.Override{Kind: retry.Indefinite}}, "retry indefinite,  20s", "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := ladder()
			l.Rules.Permanent = []string{"*"}
			l.Mapper = maps(&c.verdict)
			d := l.Decide(t.Context(), c.in)
			require.Equal(t, classify.ByMapper, d.DecidedBy)
			require.Equal(t, c.want, fmt.Sprintf("%s %s, %s %s", d.Action, d.Kind, d.DeadReason, d.Delay))
			if c.class == "" {
				require.Nil(t, d.Failure)
			} else {
				require.Equal(t, c.class, d.Failure.Class)
			}
			check(t, l, c.in, d)
		})
	}
}

func TestAMapperIsntAskedAboutSignals(t *testing.T) {
	t.Parallel()
	l := ladder()
	l.Mapper = mapper(func(classify.Question) (*classify.Verdict, error) {
		t.Error("asked")
		return nil, nil
	})
	for _, e := range []classify.Ending{classify.Snoozed, classify.RetryAfter} {
		require.Equal(t, classify.ByGuest, l.Decide(t.Context(), classify.Input{Ending: e, Policy: plain(), Attempt: 1}).DecidedBy)
	}
}

func TestWhatAClassifierSees(t *testing.T) {
	t.Parallel()
	var got classify.Question
	l := ladder()
	l.Chain = classify.Chain{classifier{"a", func(q classify.Question) (*classify.Override, error) {
		got = q
		return nil, nil
	}}}
	in := failed("A", 2)
	in.Deadline = noon.Add(time.Hour)
	l.Decide(t.Context(), in)
	require.Equal(t, classify.Question{
		Failure: in.Failure, Attempt: 2, Policy: in.Policy, Settings: l.Settings, Deadline: in.Deadline, OccurredAt: noon,
	}, got)
	require.Equal(t, 10*time.Second, got.NextDelay())
	in = failed(abi.ClassHostFault, 2)
	in.HostFaults = 4
	l.Decide(t.Context(), in)
	require.Equal(t, 40*time.Second, got.NextDelay(), "the delay that it gets")
}

func TestBothMarksAreRecordedAsAViolation(t *testing.T) {
	t.Parallel()
	in := failed("A", 1)
	in.Failure.Permanent, in.Failure.Retryable = true, true
	d := ladder().Decide(t.Context(), in)
	require.Equal(t, abi.ClassAbiViolation, d.Failure.Class)
	require.Equal(t, []string{abi.ClassAlwaysTerminal}, d.Failure.Ancestors)
	require.Equal(t, "A", in.Failure.Class, "the caller's record isn't touched")
}

func TestAlwaysTerminalReasons(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]retry.DeadReason{
		abi.ClassPayloadValidation: retry.PayloadInvalid, abi.ClassResultTooLarge: retry.ResultTooLarge,
		abi.ClassUnencodableValue: retry.DeadNonRetryable, abi.ClassAbiViolation: retry.DeadNonRetryable, abi.ClassNonDeterminism: retry.DeadNonRetryable,
	} {
		in := failed(class, 1)
		in.Failure.Retryable = true
		d := ladder().Decide(t.Context(), in)
		require.Equal(t, classify.ByAlwaysTerminal, d.DecidedBy, class)
		require.Equal(t, want, d.DeadReason, class)
	}
}

func TestADelayIsDrawnFromTheBand(t *testing.T) {
	t.Parallel()
	in := failed("A", 2)
	in.Policy.Jitter = 0.2
	for u, want := range map[uint64]time.Duration{0: 8 * time.Second, 1 << 63: 10 * time.Second} {
		in.Random = u
		require.Equal(t, want, ladder().Decide(t.Context(), in).Delay)
	}
}

func TestHostFaultsAreGivenBackThreeTimes(t *testing.T) {
	t.Parallel()
	l := ladder()
	l.Rules = classify.Rules{RetryOn: []string{"net.*"}, Permanent: []string{"*"}}
	for faults, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second} {
		in := failed(abi.ClassHostFault, 3)
		in.HostFaults, in.Policy.Kind = faults, retry.NonRetryable
		d := l.Decide(t.Context(), in)
		require.Equal(t, classify.Retry, d.Action, "no rule of an author meant it")
		require.True(t, d.GiveBack)
		require.Equal(t, want, d.Delay, "the curve counts the faults")
	}
	in := failed(abi.ClassHostFault, 1)
	in.HostFaults = 4
	require.Equal(t, classify.ByDeny, l.Decide(t.Context(), in).DecidedBy, "then it is a failure as any")
	d := ladder().Decide(t.Context(), in)
	require.Equal(t, classify.Retry, d.Action)
	require.False(t, d.GiveBack)
	require.Equal(t, 40*time.Second, d.Delay)
	in.Attempt = 3
	require.Equal(t, retry.Exhausted, ladder().Decide(t.Context(), in).DeadReason)
	in.CancelRequested = true
	in.HostFaults = 1
	require.Equal(t, classify.ByCancel, ladder().Decide(t.Context(), in).DecidedBy)
}

func TestAThousandSnoozesExhaustNothing(t *testing.T) {
	t.Parallel()
	l := ladder()
	p := plain()
	p.MaxAttempts = 1
	attempt := 0
	for range 1000 {
		attempt++ // the claim
		require.False(t, retry.Poisoned(p, "", attempt))
		d := l.Decide(t.Context(), classify.Input{Ending: classify.Snoozed, Policy: p, Attempt: attempt})
		require.Equal(t, classify.Snooze, d.Action)
		require.Equal(t, time.Second, d.Delay, "the floor")
		require.True(t, d.GiveBack)
		attempt--
	}
	require.Zero(t, attempt)
}

func TestASignalAboveItsCeilingIsShortenedAndSaysSo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := ladder()
	l.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn})
	in := classify.Input{Ending: classify.RetryAfter, Delay: 31 * 24 * time.Hour, Policy: plain(), Attempt: 1, LogKeys: []any{"job", "j1"}}
	d := l.Decide(t.Context(), in)
	require.True(t, d.Shortened)
	require.Equal(t, 30*24*time.Hour, d.Delay)
	require.Contains(t, log.String(), "a deferral is shortened")
	require.Contains(t, log.String(), "job=j1")
	log.Reset()
	in.Delay = 25 * time.Hour
	require.Equal(t, 25*time.Hour, l.Decide(t.Context(), in).Delay, "max_retry_backoff isn't for signals")
	require.Empty(t, log.String())
}

func TestWhatWasLiftedStaysLiftedWhileTheAttemptIsGivenBack(t *testing.T) {
	t.Parallel()
	l := ladder()
	l.Chain = classify.Chain{builtin(t, classify.RateLimitAware, "")}
	d := l.Decide(t.Context(), failed("RateLimitError", 3))
	require.Equal(t, retry.Indefinite, d.Lifted)
	d = l.Decide(t.Context(), classify.Input{Ending: classify.Snoozed, Policy: plain(), Attempt: 4, Lifted: d.Lifted})
	require.False(t, retry.Poisoned(plain(), d.Lifted, 4), "the snoozed attempt is claimed again as the fourth")
	d = l.Decide(t.Context(), failed("A", 4))
	require.Equal(t, retry.Exhausted, d.DeadReason, "another failure is the policy's again")
}

func TestADecisionIsShownAsTheCommandPromises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   classify.Input
		want string
	}{
		{failed("A", 1), `{"action":"retry","decided_by":"policy","kind":"transient","delay_ms":5000,"dead_reason":null}`},
		{failed("A", 3), `{"action":"fail","decided_by":"policy","kind":"transient","delay_ms":null,"dead_reason":"exhausted"}`},
	} {
		text, err := json.Marshal(ladder().Decide(t.Context(), c.in))
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(text))
	}
}

func TestARateLimitWaitsAsLongAsTheServerAsked(t *testing.T) {
	t.Parallel()
	l := ladder()
	l.Chain = classify.Chain{builtin(t, classify.RateLimitAware, ""), builtin(t, classify.FailureTaxonomy, "")}
	for header, want := range map[string]string{
		"120":                  "2m0s",
		"0.5":                  "1s",
		"100000":               "24h0m0s",
		"99999999999999999999": "24h0m0s",
		"garbage":              "20s",
	} {
		in := failed("HttpError", 3)
		in.Failure.HTTP = &abi.HTTP{Status: 429, Headers: map[string]string{"Retry-After": header}}
		d := l.Decide(t.Context(), in)
		require.Equal(t, "classifier:builtin:rate_limit_aware", d.DecidedBy)
		require.Equal(t, retry.Indefinite, d.Kind)
		require.Equal(t, want, d.Delay.String(), header)
	}
	in := failed("HttpError", 1)
	in.Failure.HTTP = &abi.HTTP{Status: 404}
	require.Equal(t, "classifier:builtin:failure_taxonomy", l.Decide(t.Context(), in).DecidedBy)
}

func TestSurprisingPairsAreWarnedOf(t *testing.T) {
	t.Parallel()
	limits := builtin(t, classify.RateLimitAware, "")
	for _, c := range []struct {
		name   string
		change func(*classify.Ladder, *retry.Policy)
		want   []string
	}{
		{"nothing to say", func(*classify.Ladder, *retry.Policy) {}, nil},
		{"both lists", func(l *classify.Ladder, _ *retry.Policy) {
			l.Rules = classify.Rules{RetryOn: []string{"a"}, NonRetryable: []string{"b"}}
		}, []string{"retry_on alone counts"}},
		{"an indefinite claim without a stop", func(l *classify.Ladder, _ *retry.Policy) { l.Chain = classify.Chain{limits} }, []string{"may answer indefinite"}},
		{"with a time budget", func(l *classify.Ladder, p *retry.Policy) {
			l.Chain, p.Kind, p.TimeBudget = classify.Chain{limits}, retry.Indefinite, time.Hour
		}, nil},
		{"with a highest age", func(l *classify.Ladder, _ *retry.Policy) {
			l.Chain, l.Settings.MaxIndefiniteAge = classify.Chain{limits}, time.Hour
		}, nil},
		{"a claim that is transient", func(l *classify.Ladder, _ *retry.Policy) {
			l.Chain = classify.Chain{builtin(t, classify.RateLimitAware, `{"claim_kind":"transient"}`)}
		}, nil},
		{"a non_retryable actor", func(l *classify.Ladder, p *retry.Policy) {
			p.Kind, l.Chain = retry.NonRetryable, classify.Chain{answers("mine", nil)}
		}, []string{"mine may make this non_retryable actor retry"}},
		{"a classifier that never claims", func(l *classify.Ladder, p *retry.Policy) {
			p.Kind, l.Chain = retry.NonRetryable, classify.Chain{builtin(t, classify.RateLimitAware, `{"claim_kind":"none"}`)}
		}, nil},
		{"the policy's own", func(_ *classify.Ladder, p *retry.Policy) { p.Kind = retry.Indefinite }, []string{"retried for ever"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, p := ladder(), retry.Default()
			c.change(l, &p)
			got := l.Warnings(p)
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				require.Contains(t, got[i], want)
			}
		})
	}
}

func BenchmarkLadder(b *testing.B) {
	l := ladder()
	l.Rules = classify.Rules{NonRetryable: []string{"*.ValidationException", "acme.Bad*"}, Permanent: []string{"java.lang.*"}, Retryable: []string{"TIMEOUT", "java.net.*"}}
	l.Chain = classify.Chain{builtin(b, classify.RateLimitAware, ""), builtin(b, classify.FailureTaxonomy, "")}
	throttled := &abi.Failure{Class: "httpx.HTTPStatusError", Ancestors: []string{"HTTPError", "Exception"}, HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"Retry-After": "Sun, 01 Mar 2026 12:02:00 GMT"}}}
	unavailable := &abi.Failure{Class: "httpx.HTTPStatusError", Ancestors: []string{"HTTPError", "Exception"}, HTTP: &abi.HTTP{Status: 503}}
	for _, c := range []struct {
		name string
		in   classify.Input
		mult float64
	}{
		{"success", classify.Input{Ending: classify.Succeeded}, 2},
		{"429 with a date", classify.Input{Ending: classify.Failed, Failure: throttled}, 2},
		{"503", classify.Input{Ending: classify.Failed, Failure: unavailable}, 2},
		{"503 on a curve of 1.5", classify.Input{Ending: classify.Failed, Failure: unavailable}, 1.5},
		{"no opinion", classify.Input{Ending: classify.Failed, Failure: &abi.Failure{Class: "acme.Oops"}}, 2},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.in.Policy, c.in.Attempt, c.in.OccurredAt = retry.Default(), 2, noon
			c.in.Policy.Multiplier = c.mult
			b.ReportAllocs()
			for b.Loop() {
				l.Decide(b.Context(), c.in)
			}
		})
	}
}
