package retry_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/retry"
)

func TestEveryRuleIsCheckedAndNamesItsField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*retry.Policy)
		want   string // empty: legal
	}{
		{"the default is legal", func(*retry.Policy) {}, ""},
		{"a kind that doesn't exist", func(p *retry.Policy) { p.Kind = "sometimes" }, "q.retry.kind: must be transient | indefinite | non_retryable"},
		{"no attempt at all", func(p *retry.Policy) { p.MaxAttempts = 0 }, "q.retry.max_attempts: must be 1..32766"},
		{"one attempt too many", func(p *retry.Policy) { p.MaxAttempts = 32767 }, "q.retry.max_attempts: must be 1..32766"},
		{"the most attempts", func(p *retry.Policy) { p.MaxAttempts = 32766 }, ""},
		{"max_attempts is checked although indefinite ignores it", func(p *retry.Policy) { p.Kind, p.MaxAttempts = retry.Indefinite, 0 }, "q.retry.max_attempts: must be 1..32766"},
		{"a negative time budget", func(p *retry.Policy) { p.TimeBudget = -1 }, "q.retry.time_budget: must be > 0"},
		{"a time budget on a kind that ignores it is no error", func(p *retry.Policy) { p.TimeBudget = 1 }, ""},
		{"a curve that doesn't exist", func(p *retry.Policy) { p.Backoff = "" }, "q.retry.backoff: must be exponential | linear | fixed"},
		{"no base", func(p *retry.Policy) { p.Base = 0 }, "q.retry.base: must be > 0"},
		{"a shrinking multiplier", func(p *retry.Policy) { p.Multiplier = 0.99 }, "q.retry.multiplier: must be >= 1"},
		{"the multiplier is checked with every curve", func(p *retry.Policy) { p.Backoff, p.Multiplier = retry.Linear, 0 }, "q.retry.multiplier: must be >= 1"},
		{"a multiplier that is no number", func(p *retry.Policy) { p.Multiplier = math.NaN() }, "q.retry.multiplier: must be a finite number"},
		{"an infinite multiplier", func(p *retry.Policy) { p.Multiplier = math.Inf(1) }, "q.retry.multiplier: must be a finite number"},
		{"a cap under the base", func(p *retry.Policy) { p.Cap = time.Second }, "q.retry.cap: must be >= base (5s)"},
		{"no cap", func(p *retry.Policy) { p.Cap = 0 }, "q.retry.cap: must be > 0"},
		{"a cap at the base", func(p *retry.Policy) { p.Cap = p.Base }, ""},
		{"negative jitter", func(p *retry.Policy) { p.Jitter = -0.1 }, "q.retry.jitter: must be 0..1"},
		{"jitter above one", func(p *retry.Policy) { p.Jitter = 1.1 }, "q.retry.jitter: must be 0..1"},
		{"jitter that is no number", func(p *retry.Policy) { p.Jitter = math.NaN() }, "q.retry.jitter: must be 0..1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			c.change(&p)
			err := p.Validate("q.retry")
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestAllViolationsAreToldTheFirstFieldFirst(t *testing.T) {
	t.Parallel()
	err := retry.Policy{}.Validate("")
	var first *retry.PolicyError
	require.ErrorAs(t, err, &first)
	require.Equal(t, retry.PolicyError{Path: "kind", Rule: "must be transient | indefinite | non_retryable"}, *first)
	var many interface{ Unwrap() []error }
	require.ErrorAs(t, err, &many)
	require.Len(t, many.Unwrap(), 6)
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*retry.Settings)
		want   string
	}{
		{"as shipped", func(*retry.Settings) {}, ""},
		{"no floor", func(s *retry.Settings) { s.MinDeferral = 0 }, "host.min_deferral: must be > 0"},
		{"a ceiling under the floor", func(s *retry.Settings) { s.MaxRetryBackoff = 999 * time.Millisecond }, "host.max_retry_backoff: must be >= min_deferral (1s)"},
		{"a deferral's ceiling under the floor", func(s *retry.Settings) { s.MaxDeferral = 0 }, "host.max_deferral: must be >= min_deferral (1s)"},
		{"a negative age", func(s *retry.Settings) { s.MaxIndefiniteAge = -1 }, "host.max_indefinite_age: must be > 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := retry.DefaultSettings()
			c.change(&s)
			if err := s.Validate("host"); c.want != "" {
				require.EqualError(t, err, c.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestAMultiplierOfOneReadsBackAsFixed(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	p.Multiplier = 1
	require.Equal(t, retry.Fixed, p.Canonical().Backoff)
	p.Backoff = retry.Linear
	require.Equal(t, retry.Linear, p.Canonical().Backoff, "the multiplier counts for the exponential curve only")
	p = retry.Default()
	require.Equal(t, p, p.Canonical())
}

func TestAnIndefiniteBudgetIsNeverANumber(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	require.Equal(t, "3", p.Budget())
	p.Kind = retry.Indefinite
	require.Equal(t, "— (indefinite)", p.Budget())
	require.NotContains(t, p.String(), "3")
	p.Kind = retry.NonRetryable
	require.Equal(t, "1", p.Budget())
}

func TestAPolicyIsToldInALine(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	require.Equal(t, "transient, attempts 3, exponential from 5s ×2 to 1h0m0s, jitter 0.2", p.String())
	p.Kind, p.TimeBudget, p.Multiplier = retry.Indefinite, 48*time.Hour, 1
	require.Equal(t, "indefinite, attempts — (indefinite), fixed from 5s, within 48h0m0s, jitter 0.2", p.String())
}

func TestSurprisingPoliciesAreWarnedOf(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	require.Empty(t, p.Warnings(false))
	p.TimeBudget = time.Hour
	require.Len(t, p.Warnings(false), 1, "a budget that is ignored")
	p.Kind = retry.Indefinite
	require.Empty(t, p.Warnings(false))
	p.TimeBudget = 0
	require.Len(t, p.Warnings(false), 1, "no stop at all")
	require.Empty(t, p.Warnings(true), "a deadline of the job's own is a stop")
}

func TestTheSnapshotIsStable(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, `{"kind":"transient","max_attempts":3,"backoff":"exponential","base":"5s","multiplier":2,"cap":"1h0m0s","jitter":0.2}`, string(text))
	p.Kind, p.TimeBudget, p.Multiplier = retry.Indefinite, 36*time.Hour, 1
	text, err = json.Marshal(&p)
	require.NoError(t, err)
	require.Equal(t, `{"kind":"indefinite","max_attempts":3,"time_budget":"36h0m0s","backoff":"fixed","base":"5s","multiplier":1,"cap":"1h0m0s","jitter":0.2}`, string(text))
}

func TestASnapshotReadsBackInItsCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var back retry.Policy
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, p.Canonical(), back)
	})
}

func TestASnapshotIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"an unknown field", `{"bse":"1s"}`, "bse"},
		{"a number for a duration", `{"base":5}`, "base"},
		{"a duration without a unit", `{"base":"5"}`, "base: must be a duration"},
		{"a broken rule", `{"base":"2h"}`, "cap: must be >= base (2h0m0s)"},
		{"a list", `[]`, "retry policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			require.ErrorContains(t, json.Unmarshal([]byte(c.in), &p), c.want)
			require.Equal(t, retry.Default(), p, "nothing is half read")
		})
	}
	var p retry.Policy
	require.NoError(t, json.Unmarshal([]byte(`{"max_attempts":8}`), &p))
	want := retry.Default()
	want.MaxAttempts = 8
	require.Equal(t, want, p, "what is absent is the default's")
}

func FuzzPolicyJSON(f *testing.F) {
	for _, s := range []string{
		`{"kind":"transient","max_attempts":3,"backoff":"exponential","base":"5s","multiplier":2,"cap":"1h0m0s","jitter":0.2}`,
		`{"multiplier":1}`, `{"base":"1ns","cap":"2562047h47m16.854775807s"}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p retry.Policy
		if json.Unmarshal(text, &p) != nil {
			return
		}
		if string(text) == "null" {
			return
		}
		require.NoError(t, p.Validate(""))
		again, err := json.Marshal(p)
		require.NoError(t, err)
		var back retry.Policy
		require.NoError(t, json.Unmarshal(again, &back))
		require.Equal(t, p.Canonical(), back)
	})
}
