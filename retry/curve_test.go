package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/retry"
)

// drawPolicy draws any legal policy.
func drawPolicy(t *rapid.T) retry.Policy {
	base := rapid.OneOf(rapid.Int64Range(1, int64(time.Hour)), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "base")
	p := retry.Policy{
		Kind:        rapid.SampledFrom([]retry.Kind{retry.Transient, retry.Indefinite, retry.NonRetryable}).Draw(t, "kind"),
		MaxAttempts: rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, retry.MostAttempts)).Draw(t, "max_attempts"),
		TimeBudget:  time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "time_budget")),
		Backoff:     rapid.SampledFrom([]retry.Backoff{retry.Exponential, retry.Linear, retry.Fixed}).Draw(t, "backoff"),
		Base:        time.Duration(base),
		Multiplier: rapid.OneOf(rapid.SampledFrom([]float64{1, 1.000001, 1.5, 2, 3, math.MaxFloat64}),
			rapid.Float64Range(1, 10), rapid.Float64Range(1, math.MaxFloat64)).Draw(t, "multiplier"),
		Cap:    time.Duration(rapid.OneOf(rapid.Int64Range(base, math.MaxInt64), rapid.Just(base), rapid.Just(int64(math.MaxInt64))).Draw(t, "cap")),
		Jitter: rapid.OneOf(rapid.SampledFrom([]float64{0, 0.2, 1}), rapid.Float64Range(0, 1)).Draw(t, "jitter"),
	}
	require.NoError(t, p.Validate("p"))
	return p
}

func TestNoAttemptOverflowsAndNoDelayIsAboveTheEffectiveCap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		n := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 1<<31)).Draw(t, "n")
		ceiling := time.Duration(rapid.OneOf(rapid.Int64Range(1, int64(24*time.Hour)), rapid.Just(int64(math.MaxInt64))).Draw(t, "max_retry_backoff"))
		raw := p.RawDelay(n)
		require.Positive(t, raw)
		require.LessOrEqual(t, raw, p.Cap)
		require.GreaterOrEqual(t, raw, p.Base, "cap is at least base")
		require.LessOrEqual(t, raw, p.RawDelay(n+1), "the curve never falls")
		if p.Backoff != retry.Fixed && (p.Backoff == retry.Linear || p.Multiplier >= 2) && n >= 64 && p.Base > p.Cap/64 {
			require.Equal(t, p.Cap, raw, "and reaches its cap")
		}
		band := p.Band(n, ceiling)
		require.LessOrEqual(t, time.Duration(0), band.Low)
		require.LessOrEqual(t, band.Low, band.High)
		require.LessOrEqual(t, band.High, p.EffectiveCap(ceiling))
		got := band.Draw(rapid.Uint64().Draw(t, "u"))
		require.GreaterOrEqual(t, got, band.Low)
		require.LessOrEqual(t, got, band.High)
		require.Zero(t, got%time.Millisecond)
		if band.High > band.Low {
			require.Less(t, got, band.High, "a cohort never lands on the cap")
		}
	})
}

func TestThePowerIsThatOfTheDecimalNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		multiplier float64
		base       time.Duration
		n          int
		want       time.Duration
	}{
		{"1.7² is 2.89, where binary fractions give 2.8899…", 1.7, time.Second, 3, 2890 * time.Millisecond},
		{"1.1³", 1.1, time.Second, 4, 1331 * time.Millisecond},
		{"1.2 of a month", 1.2, 30 * 24 * time.Hour, 2, 36 * 24 * time.Hour},
		{"1.5⁵ is rounded down", 1.5, time.Nanosecond, 6, 7},
		{"a large whole one", 1000, time.Millisecond, 4, 1_000_000 * time.Second},
		{"2.5 at the last nanosecond of a century", 2.5, 40 * 24 * 365 * time.Hour, 2, 100 * 24 * 365 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			p.Base, p.Cap, p.Multiplier = c.base, math.MaxInt64, c.multiplier
			require.Equal(t, c.want, p.RawDelay(c.n))
		})
	}
}

func TestTheCurveAtItsCap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		backoff   retry.Backoff
		base, cap time.Duration
		factor    float64
		n         int
		want      time.Duration
	}{
		{"linear, the last below its cap", retry.Linear, 5 * time.Second, 12 * time.Second, 2, 2, 10 * time.Second},
		{"linear, the first above it", retry.Linear, 5 * time.Second, 12 * time.Second, 2, 3, 12 * time.Second},
		{"linear, exactly the cap", retry.Linear, 5 * time.Second, 10 * time.Second, 2, 2, 10 * time.Second},
		{"a power that is one more than any duration", retry.Exponential, 1 << 62, math.MaxInt64, 2, 2, math.MaxInt64},
		{"a fractional one", retry.Exponential, 1 << 62, math.MaxInt64, 2.0000001, 2, math.MaxInt64},
		{"a power just above the cap", retry.Exponential, 1_000_000_000, 2_000_000_000 - 1, 2, 2, 2_000_000_000 - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			p.Backoff, p.Base, p.Cap, p.Multiplier = c.backoff, c.base, c.cap, c.factor
			require.Equal(t, c.want, p.RawDelay(c.n))
		})
	}
}

func TestAttemptsBelowOneCountAsTheFirst(t *testing.T) {
	t.Parallel()
	for _, b := range []retry.Backoff{retry.Exponential, retry.Linear, retry.Fixed} {
		p := retry.Default()
		p.Backoff = b
		require.Equal(t, p.Base, p.RawDelay(0))
		require.Equal(t, p.Base, p.RawDelay(math.MinInt))
	}
}

func TestTheDrawIsUniform(t *testing.T) {
	t.Parallel()
	band := retry.Band{Low: 2880 * time.Second, High: 3600 * time.Second}
	const quarters = 4
	for i := range uint64(quarters) {
		u := i << 62
		require.Equal(t, band.Low+time.Duration(i)*(band.High-band.Low)/quarters, band.Draw(u))
	}
	require.Equal(t, band.High-time.Millisecond, band.Draw(math.MaxUint64))
}

func BenchmarkBand(b *testing.B) {
	for _, c := range []struct {
		name       string
		multiplier float64
		n          int
	}{{"whole multiplier", 2, 8}, {"fraction", 1.5, 8}, {"saturated", 1.5, 1000}} {
		b.Run(c.name, func(b *testing.B) {
			p := retry.Default()
			p.Multiplier = c.multiplier
			b.ReportAllocs()
			for b.Loop() {
				p.Band(c.n, 24*time.Hour)
			}
		})
	}
}
