package retry_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/retry"
)

var kinds = []retry.Kind{retry.Transient, retry.Indefinite, retry.NonRetryable}

func TestTheBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		kind     retry.Kind
		override retry.Kind
		attempt  int
		retry    bool
		reason   retry.DeadReason
	}{
		{"transient has attempts left", retry.Transient, "", 2, true, retry.NotDead},
		{"transient has none left", retry.Transient, "", 3, false, retry.Exhausted},
		{"transient is past it", retry.Transient, "", 4, false, retry.Exhausted},
		{"indefinite has none to spend", retry.Indefinite, "", math.MaxInt32, true, retry.NotDead},
		{"non_retryable", retry.NonRetryable, "", 1, false, retry.DeadNonRetryable},
		{"an override lifts non_retryable", retry.NonRetryable, retry.Transient, 1, true, retry.NotDead},
		{"but not the budget", retry.NonRetryable, retry.Transient, 3, false, retry.Exhausted},
		{"an indefinite override lifts the budget", retry.Transient, retry.Indefinite, 3, true, retry.NotDead},
		{"an override brings the budget back", retry.Indefinite, retry.Transient, 3, false, retry.Exhausted},
		{"an override forbids", retry.Indefinite, retry.NonRetryable, 1, false, retry.DeadNonRetryable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			p.Kind = c.kind
			d := retry.Decide(retry.Input{Policy: p, Settings: retry.DefaultSettings(), Kind: c.override, Attempt: c.attempt})
			require.Equal(t, c.retry, d.Retry)
			require.Equal(t, c.reason, d.Reason)
			want := c.kind
			if c.override != "" {
				want = c.override
			}
			require.Equal(t, want, d.Kind)
		})
	}
}

func TestDelaysOfADecision(t *testing.T) {
	t.Parallel()
	explicit := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name  string
		in    retry.Input
		want  time.Duration
		asked bool
	}{
		{"the curve's lowest draw", retry.Input{Attempt: 2}, 8 * time.Second, false},
		{"the curve's middle draw", retry.Input{Attempt: 2, Random: 1 << 63}, 10 * time.Second, false},
		{"elsewhere on the curve", retry.Input{Attempt: 1, CurveAt: 2, Random: 1 << 63}, 10 * time.Second, false},
		{"an explicit one isn't jittered", retry.Input{Attempt: 1, Delay: explicit(17 * time.Second), Random: 12345}, 17 * time.Second, true},
		{"zero is the floor", retry.Input{Attempt: 1, Delay: explicit(0)}, time.Second, true},
		{"above the curve's cap", retry.Input{Attempt: 1, Delay: explicit(2 * time.Hour)}, 2 * time.Hour, true},
		{"the ceiling clamps", retry.Input{Attempt: 1, Delay: explicit(math.MaxInt64)}, 24 * time.Hour, true},
		{"spread is never earlier", retry.Input{Attempt: 1, Delay: explicit(10 * time.Second), Spread: 0.5}, 10 * time.Second, true},
		{"spread is drawn", retry.Input{Attempt: 1, Delay: explicit(10 * time.Second), Spread: 0.5, Random: 1 << 63}, 12500 * time.Millisecond, true},
		{"spread stays under the ceiling", retry.Input{Attempt: 1, Delay: explicit(23 * time.Hour), Spread: 1, Random: 1 << 63}, 23*time.Hour + 30*time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.in.Policy, c.in.Settings = retry.Default(), retry.DefaultSettings()
			d := retry.Decide(c.in)
			require.True(t, d.Retry)
			require.Equal(t, c.want, d.Delay)
			require.Equal(t, c.asked, d.Explicit)
		})
	}
}

func TestEveryInputHasOneDecisionWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := retry.DefaultSettings()
		in := retry.Input{
			Policy: drawPolicy(t), Settings: s, Attempt: rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 1<<31)).Draw(t, "attempt"),
			Kind: rapid.SampledFrom(append(kinds, "")).Draw(t, "override"), Random: rapid.Uint64().Draw(t, "u"),
		}
		if rapid.Bool().Draw(t, "explicit") {
			d := time.Duration(rapid.Int64().Draw(t, "delay"))
			in.Delay, in.Spread = &d, rapid.Float64Range(0, 1).Draw(t, "spread")
		}
		d := retry.Decide(in)
		require.Equal(t, d, retry.Decide(in), "the same input, the same answer")
		require.NotEqual(t, d.Retry, d.Reason != retry.NotDead, "a retry or a reason against it")
		switch {
		case !d.Retry:
			require.Zero(t, d.Delay)
			require.NotEqual(t, retry.Indefinite, d.Kind, "nothing but a deadline stops indefinite")
		case d.Explicit:
			require.GreaterOrEqual(t, d.Delay, min(max(*in.Delay, s.MinDeferral), s.MaxRetryBackoff).Truncate(time.Millisecond))
			require.LessOrEqual(t, d.Delay, s.MaxRetryBackoff)
		default:
			require.LessOrEqual(t, d.Delay, in.Policy.EffectiveCap(s.MaxRetryBackoff))
			require.GreaterOrEqual(t, d.Delay, time.Duration(0))
		}
		if d.Retry && d.Kind == retry.Transient {
			require.Less(t, in.Attempt, in.Policy.MaxAttempts)
		}
	})
}

func TestACrashSpendsTheAttempt(t *testing.T) {
	t.Parallel()
	job := [16]byte{0x01, 0x89}
	s := retry.DefaultSettings()
	p := retry.Default()
	d := retry.Reclaim(p, s, job, 1)
	require.True(t, d.Retry)
	require.Equal(t, retry.ReclaimDelay(p.Band(1, s.MaxRetryBackoff), job, 1), d.Delay)
	require.Equal(t, d, retry.Reclaim(p, s, job, 1), "every sweep computes the same")
	require.NotEqual(t, d.Delay, retry.Reclaim(p, s, [16]byte{0x01, 0x8a}, 1).Delay, "another job, another delay")

	require.Equal(t, retry.Decision{Kind: retry.Transient, Reason: retry.CrashExhausted}, retry.Reclaim(p, s, job, 3))
	p.Kind = retry.NonRetryable
	require.Equal(t, retry.Decision{Kind: retry.NonRetryable, Reason: retry.CrashExhausted}, retry.Reclaim(p, s, job, 1), "never run again")
	p.Kind = retry.Indefinite
	require.True(t, retry.Reclaim(p, s, job, 32766).Retry)

	p = retry.Default()
	p.Base, p.Cap = time.Millisecond, 2*time.Millisecond
	require.Equal(t, time.Second, retry.Reclaim(p, s, job, 1).Delay, "the only computed delay with a floor")
}

func TestAnInterruptIsDueAtOnce(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	require.Equal(t, retry.Decision{Retry: true, Kind: retry.Transient}, retry.Interrupt(p, 2))
	require.Equal(t, retry.Decision{Kind: retry.Transient, Reason: retry.CrashExhausted}, retry.Interrupt(p, 3))
	p.Kind = retry.NonRetryable
	require.Equal(t, retry.Decision{Kind: retry.NonRetryable, Reason: retry.CrashExhausted}, retry.Interrupt(p, 1))
	p.Kind = retry.Indefinite
	require.Equal(t, retry.Decision{Retry: true, Kind: retry.Indefinite}, retry.Interrupt(p, 9))
}

func TestThePoisonGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, lifted retry.Kind
		attempt      int
		want         bool
	}{
		{retry.Transient, "", 3, false},
		{retry.Transient, "", 4, true},
		{retry.NonRetryable, "", 1, false},
		{retry.NonRetryable, "", 2, true},
		{retry.Indefinite, "", 32766, false},
		{retry.Transient, retry.Indefinite, 4, false},
		{retry.NonRetryable, retry.Transient, 2, false},
		{retry.NonRetryable, retry.Transient, 4, true},
	} {
		t.Run(fmt.Sprintf("%s lifted to %q at attempt %d", c.kind, c.lifted, c.attempt), func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			p.Kind = c.kind
			require.Equal(t, c.want, retry.Poisoned(p, c.lifted, c.attempt))
		})
	}
}

func TestWhatADecisionGrantsIsNeverPoisoned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := retry.Input{
			Policy: drawPolicy(t), Settings: retry.DefaultSettings(), Attempt: rapid.IntRange(1, 40000).Draw(t, "attempt"),
			Kind: rapid.SampledFrom(append(kinds, "")).Draw(t, "override"),
		}
		if retry.Decide(in).Retry {
			require.False(t, retry.Poisoned(in.Policy, in.Kind, in.Attempt+1))
		}
	})
}

func TestSignalsAreFlooredAndShortened(t *testing.T) {
	t.Parallel()
	s := retry.DefaultSettings()
	for _, c := range []struct {
		in, want  time.Duration
		shortened bool
	}{
		{0, time.Second, false},
		{time.Millisecond, time.Second, false},
		{48 * time.Hour, 48 * time.Hour, false},
		{30 * 24 * time.Hour, 30 * 24 * time.Hour, false},
		{30*24*time.Hour + 1, 30 * 24 * time.Hour, true},
	} {
		got, shortened := s.Deferral(c.in)
		require.Equal(t, c.want, got, c.in)
		require.Equal(t, c.shortened, shortened, c.in)
	}
}

func TestDeadReasonsKeepTheirNumbersAndNames(t *testing.T) {
	t.Parallel()
	names := []string{"exhausted", "non_retryable", "deadline", "crash_exhausted", "payload_invalid", "unroutable", "version_mismatch", "result_too_large", "retry_budget"}
	all := retry.DeadReasons()
	require.Len(t, all, len(names))
	for i, r := range all {
		require.Equal(t, retry.DeadReason(i+1), r)
		require.Equal(t, names[i], r.String())
		text, err := json.Marshal(map[string]retry.DeadReason{"dead_reason": r})
		require.NoError(t, err)
		var back map[string]retry.DeadReason
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, r, back["dead_reason"])
	}
	_, err := retry.ParseDeadReason("tired")
	require.Error(t, err)
	_, err = retry.DeadReason(99).MarshalText()
	require.Error(t, err)
	require.Equal(t, "DeadReason(99)", retry.DeadReason(99).String())
}
