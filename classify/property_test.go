package classify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

// check holds a decision against what must be true of every one.
func check(t require.TestingT, l *classify.Ladder, in classify.Input, d classify.Decision) {
	s := l.Settings
	require.Contains(t, []classify.Action{
		classify.Drop, classify.Cancel, classify.Succeed, classify.Fail, classify.Retry, classify.Snooze, classify.RetryLater,
	}, d.Action)
	require.Equal(t, d.Action == classify.Fail, d.DeadReason != retry.NotDead, "a dead letter, and only that, has a reason")
	if d.DecidedBy == "" {
		require.Equal(t, classify.Succeed, d.Action, "only a plain success has no rung")
		require.Nil(t, d.Result)
	}
	if !d.Reschedules() {
		require.Zero(t, d.Delay)
		require.False(t, d.GiveBack)
	}
	if d.Action == classify.Fail || d.Action == classify.Retry {
		require.NotNil(t, d.Failure, "what failed is recorded")
	} else if d.Action != classify.Cancel {
		require.Nil(t, d.Failure)
	}
	require.Zero(t, d.Delay%time.Millisecond)
	require.True(t, d.Kind.Valid())

	switch {
	case in.OwnershipLost:
		require.Equal(t, classify.Drop, d.Action)
	case in.CancelRequested:
		require.Equal(t, classify.Cancel, d.Action)
	default:
		require.NotContains(t, []classify.Action{classify.Drop, classify.Cancel}, d.Action)
	}
	switch d.Action {
	case classify.Snooze, classify.RetryLater:
		require.GreaterOrEqual(t, d.Delay, s.MinDeferral)
		require.LessOrEqual(t, d.Delay, s.MaxDeferral)
	case classify.Retry:
		if d.Explicit {
			require.GreaterOrEqual(t, d.Delay, s.MinDeferral)
			require.LessOrEqual(t, d.Delay, s.MaxRetryBackoff)
		} else {
			require.GreaterOrEqual(t, d.Delay, time.Duration(0))
			require.LessOrEqual(t, d.Delay, in.Policy.EffectiveCap(s.MaxRetryBackoff))
		}
	}
	spends := d.Reschedules() && !d.GiveBack
	if spends && d.Kind != retry.Indefinite {
		require.Less(t, in.Attempt, in.Policy.MaxAttempts, "no budget is lifted")
		require.Equal(t, retry.Transient, d.Kind)
	}
	if spends {
		require.False(t, retry.Poisoned(in.Policy, d.Lifted, in.Attempt+1), "the claim's guard lets through what was granted")
	}
}

var (
	classes = []string{"acme.Oops", "net.OpError", abi.ClassTimeout, abi.ClassHostFault, abi.ClassPayloadValidation, abi.ClassResultTooLarge, abi.ClassNonDeterminism, "RateLimitError", ""}
	globs   = []string{"*", "acme.*", "net.*", "TIMEOUT", "Nothing"}
	kinds   = []retry.Kind{retry.Transient, retry.Indefinite, retry.NonRetryable}
)

func drawGlobs(t *rapid.T, label string) []string {
	if rapid.Bool().Draw(t, label+" absent") {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom(globs), 0, 2).Draw(t, label)
}

func drawOverride(t *rapid.T) classify.Override {
	o := classify.Override{Kind: rapid.SampledFrom(append([]retry.Kind{"", "", "sometimes"}, kinds...)).Draw(t, "kind")}
	if rapid.Bool().Draw(t, "with a delay") {
		o.Delay = ptr(time.Duration(rapid.Int64().Draw(t, "delay")))
		o.Spread = rapid.Float64Range(-0.1, 1.1).Draw(t, "spread")
	}
	return o
}

func drawClassifier(t *rapid.T) classify.Classifier {
	switch rapid.IntRange(0, 6).Draw(t, "classifier") {
	case 0:
		return panics("p")
	case 1:
		return breaks("e", errors.New("GuestTrap"))
	case 2:
		return breaks("t", context.DeadlineExceeded)
	case 3:
		return answers("n", nil)
	case 4:
		c, err := classify.Builtin(classify.RateLimitAware, nil)
		require.NoError(t, err)
		return c
	}
	return answers("o", ptr(drawOverride(t)))
}

func drawMapper(t *rapid.T) classify.Mapper {
	v := &classify.Verdict{}
	delay := func() *time.Duration { return ptr(time.Duration(rapid.Int64().Draw(t, "signal"))) }
	switch rapid.IntRange(0, 8).Draw(t, "mapper") {
	case 0:
		v.Succeed = []byte("1")
	case 1:
		v.Fail = drawFailure(t)
		v.Override = drawOverride(t)
	case 2:
		v.Snooze = delay()
	case 3:
		v.RetryAfter, v.ConsumeBudget = delay(), rapid.Bool().Draw(t, "mapper consumes")
	case 4:
		v.Override = drawOverride(t)
	case 5:
		return mapper(func(classify.Question) (*classify.Verdict, error) { panic("mapper") })
	default:
		return nil
	}
	return maps(v)
}

func drawFailure(t *rapid.T) *abi.Failure {
	return &abi.Failure{
		Class:     rapid.SampledFrom(classes).Draw(t, "class"),
		Ancestors: rapid.SliceOfN(rapid.SampledFrom(classes), 0, 2).Draw(t, "ancestors"),
		Permanent: rapid.Bool().Draw(t, "permanent"), Retryable: rapid.Bool().Draw(t, "retryable"),
	}
}

func TestEveryEndHasOneDecisionWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		broken := 0
		l := &classify.Ladder{
			Settings: retry.DefaultSettings(), Mapper: drawMapper(t),
			Rules: classify.Rules{
				RetryOn: drawGlobs(t, "retry_on"), NonRetryable: drawGlobs(t, "non_retryable_errors"),
				Permanent: drawGlobs(t, "permanent"), Retryable: drawGlobs(t, "retryable"),
			},
			Broken: func(string, classify.Breakage) { broken++ },
		}
		for range rapid.IntRange(0, 3).Draw(t, "chain") {
			l.Chain = append(l.Chain, drawClassifier(t))
		}
		p := retry.Default()
		p.Kind = rapid.SampledFrom(kinds).Draw(t, "policy")
		p.MaxAttempts = rapid.IntRange(1, 4).Draw(t, "max_attempts")
		in := classify.Input{
			OwnershipLost: rapid.IntRange(0, 9).Draw(t, "lost") == 0, CancelRequested: rapid.IntRange(0, 9).Draw(t, "cancel") == 0,
			Ending: rapid.SampledFrom([]classify.Ending{0, classify.Succeeded, classify.Failed, classify.Failed, classify.Failed, classify.Snoozed, classify.RetryAfter}).Draw(t, "ending"),
			Delay:  time.Duration(rapid.Int64().Draw(t, "delay")), ConsumeBudget: rapid.Bool().Draw(t, "consume"),
			Policy: p, Attempt: rapid.IntRange(1, 5).Draw(t, "attempt"), HostFaults: rapid.IntRange(0, 6).Draw(t, "host faults"),
			Lifted: rapid.SampledFrom(append(kinds, "")).Draw(t, "lifted"), OccurredAt: noon, Random: rapid.Uint64().Draw(t, "u"),
		}
		if rapid.IntRange(0, 9).Draw(t, "with a record") > 0 {
			in.Failure = drawFailure(t)
		}
		d := l.Decide(t.Context(), in)
		check(t, l, in, d)
		require.Equal(t, d, l.Decide(t.Context(), in), "the same end, the same decision")
		if in.OwnershipLost || in.CancelRequested || d.DecidedBy == classify.ByAlwaysTerminal {
			require.Zero(t, broken, "nobody is asked")
		}
	})
}
