package config

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/retry"
)

func patch(t testing.TB, m map[string]any) Patch {
	t.Helper()
	p, err := DecodePatch("", m)
	require.NoError(t, err)
	return p
}

func TestLayersWinInTheirOrder(t *testing.T) {
	t.Parallel()
	const file = `
host: {default_start_to_close: 1m}
defaults: {retry: {max_attempts: 12}, execution: {start_to_close: 12s}}
queues: {q: {retry: {max_attempts: 13}, execution: {start_to_close: 13s}}}
tenants:
  acme:
    defaults: {retry: {max_attempts: 14}, execution: {start_to_close: 14s}}
    queues: {q: {retry: {max_attempts: 15}, execution: {start_to_close: 15s}}}
    actors: {charge: {retry: {max_attempts: 16}, execution: {start_to_close: 16s}}}
  other: {}
`
	c := mustLoad(t, file)
	description := patch(t, map[string]any{"retry": map[string]any{"max_attempts": 11, "jitter": 0.5}, "start_to_close": "11s"})
	for name, tc := range map[string]struct {
		l    Lookup
		want int
	}{
		"defaults":                   {Lookup{Tenant: "other", Queue: "x", Actor: "y", Description: description}, 12},
		"the queue":                  {Lookup{Tenant: "other", Queue: "q", Actor: "y", Description: description}, 13},
		"the tenant's defaults":      {Lookup{Tenant: "acme", Queue: "x", Actor: "y", Description: description}, 14},
		"the tenant's queue":         {Lookup{Tenant: "acme", Queue: "q", Actor: "y", Description: description}, 15},
		"the actor's configuration":  {Lookup{Tenant: "acme", Queue: "q", Actor: "charge", Description: description}, 16},
		"a tenant that nobody named": {Lookup{Tenant: "nobody", Queue: "q", Description: description}, 13},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.Resolve(tc.l)
			require.Equal(t, tc.want, r.Retry.MaxAttempts)
			require.Equal(t, time.Duration(tc.want)*time.Second, r.StartToClose)
			require.Equal(t, 0.5, r.Retry.Jitter, "what no block says is the description's")
			r, err := r.Override("", patch(t, map[string]any{"retry": map[string]any{"max_attempts": 17}, "start_to_close": "17s"}))
			require.NoError(t, err)
			require.Equal(t, 17, r.Retry.MaxAttempts)
			require.Equal(t, 17*time.Second, r.StartToClose)
			require.Empty(t, r.Adjusted)
		})
	}

	bare := mustLoad(t, "host: {default_start_to_close: 1m}")
	require.Equal(t, 11*time.Second, bare.Resolve(Lookup{Description: description}).StartToClose)
	require.Equal(t, 11, bare.Resolve(Lookup{Description: description}).Retry.MaxAttempts, "a description outranks what is built in")
	require.Equal(t, time.Minute, bare.Resolve(Lookup{}).StartToClose)
}

func TestWhyNamesTheBlockAndTheLayer(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "defaults: {retry: {base: 2s}}\ntenants: {acme: {queues: {q: {retry: {cap: 3m}}}}}")
	r := c.Resolve(Lookup{Tenant: "acme", Queue: "q", Description: patch(t, map[string]any{"retry": map[string]any{"jitter": 0}})})
	r, err := r.Override("", patch(t, map[string]any{"retry": map[string]any{"max_attempts": 4}}))
	require.NoError(t, err)
	why := map[string]Row{}
	for _, row := range c.Why(r) {
		why[row.Path] = row
	}
	require.Equal(t, Row{"retry.base", "2s", "defaults.retry.base (taskq.yaml)"}, why["retry.base"])
	require.Equal(t, Row{"retry.cap", "3m", "tenants.acme.queues.q.retry.cap (taskq.yaml)"}, why["retry.cap"])
	require.Equal(t, Row{"retry.jitter", 0.0, "description"}, why["retry.jitter"])
	require.Equal(t, Row{"retry.max_attempts", 4, "enqueue"}, why["retry.max_attempts"])
	require.Equal(t, Row{"retry.time_budget", "none", "built-in"}, why["retry.time_budget"])
	require.Equal(t, Row{"execution.start_to_close", "5m", "host.default_start_to_close (built-in)"}, why["execution.start_to_close"])
}

func TestCeilingsCutWishesDownAndSaySo(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
host: {default_start_to_close: none}
queues: {q: {retry: {max_attempts: 80}}}
tenants: {acme: {ceilings: {max_attempts: 50, start_to_close: 10m}}}
`)
	r := c.Resolve(Lookup{Tenant: "acme", Queue: "q"})
	require.Equal(t, 50, r.Retry.MaxAttempts)
	require.Equal(t, 10*time.Minute, r.StartToClose)
	require.Equal(t, []string{
		"retry.max_attempts: 80 became 50 (the tenant's ceiling)",
		"execution.start_to_close: none became 10m (the tenant's ceiling)",
	}, r.Adjusted)

	asked := patch(t, map[string]any{"retry": map[string]any{"max_attempts": 51}, "start_to_close": "9m"})
	for _, again := range []Resolved{must(r.Override("", asked)), r.Adjust(asked)} {
		require.Equal(t, 50, again.Retry.MaxAttempts)
		require.Equal(t, 9*time.Minute, again.StartToClose)
		require.Len(t, again.Adjusted, 3)
	}
	require.Len(t, r.Adjusted, 2, "a value that was handed out doesn't change")
	require.Equal(t, 80, c.Resolve(Lookup{Tenant: "other", Queue: "q"}).Retry.MaxAttempts)
}

func must(r Resolved, err error) Resolved {
	if err != nil {
		panic(err)
	}
	return r
}

func TestAtTheDoorWhatDoesntFitIsRefusedAndAtTheClaimItIsCorrected(t *testing.T) {
	t.Parallel()
	r := mustLoad(t, "defaults: {retry: {base: 5s, cap: 1m}}").Resolve(Lookup{})

	lowCap := patch(t, map[string]any{"retry": map[string]any{"cap": "1s"}})
	_, err := r.Override("", lowCap)
	require.EqualError(t, err, "retry.cap: must be >= base (5s)")
	adjusted := r.Adjust(lowCap)
	require.Equal(t, 5*time.Second, adjusted.Retry.Cap)
	require.Equal(t, []string{"retry.cap: 1s became 5s (must be >= base)"}, adjusted.Adjusted)

	highBase := patch(t, map[string]any{"retry": map[string]any{"base": "2m"}})
	_, err = r.Override("jobs.3", highBase)
	require.EqualError(t, err, "jobs.3.retry.base: must be <= cap (1m)")
	adjusted = r.Adjust(highBase)
	require.Equal(t, time.Minute, adjusted.Retry.Base)
	require.NoError(t, adjusted.Retry.Validate("retry"))
}

func TestADescriptionThatNoLongerFitsYieldsToTheConfiguration(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "queues: {low: {retry: {cap: 4s, base: 1s}}, onlycap: {retry: {cap: 4s, jitter: 0}}, base: {retry: {base: 30m}}}\ndefaults: {retry: {base: 1s}}")
	cap20m := patch(t, map[string]any{"retry": map[string]any{"cap": "20m"}})
	r := c.Resolve(Lookup{Queue: "base", Description: cap20m})
	require.Equal(t, 30*time.Minute, r.Retry.Cap)
	require.Equal(t, 30*time.Minute, r.Retry.Base)
	require.Len(t, r.Adjusted, 1)

	c = mustLoad(t, "queues: {q: {retry: {cap: 6s}}}")
	base10s := patch(t, map[string]any{"retry": map[string]any{"base": "10s"}})
	r = c.Resolve(Lookup{Queue: "q", Description: base10s})
	require.Equal(t, 6*time.Second, r.Retry.Base)
	require.Equal(t, []string{"retry.base: 10s became 6s (must be <= cap)"}, r.Adjusted)
}

func TestADescriptionIsCheckedOverWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckPatch("manifest", Patch{}))
	require.EqualError(t, CheckPatch("manifest", patch(t, map[string]any{"retry": map[string]any{"cap": "1s"}})), "manifest.retry.cap: must be >= base (5s)")
}

func TestARetryBlockOfAnEnqueueIsReadAsStrictlyAsAFile(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		`{"base": "1s", "initial_backoff": 2}`:   "retry: base and initial_backoff name one field",
		`{"max_atempts": 8}`:                     "retry.max_atempts: unknown, did you mean max_attempts",
		`{"base": "0s"}`:                         "retry.base: must be > 0",
		`{"jitter": 1.5, "max_attempts": 0}`:     "retry.jitter: must be 0..1\nretry.max_attempts: must be 1..32766",
		`{"max_attempts": 32767}`:                "retry.max_attempts: must be 1..32766",
		`{"max_attempts": 1e3}`:                  "retry.max_attempts: must be a whole number of a sensible size",
		`{"max_attempts": 1, "max_attempts": 2}`: "retry.max_attempts: is there twice",
		`{"retryable_errors": ["A"]}`:            "retry.retryable_errors: unknown; known here are kind, max_attempts, time_budget, backoff, base, multiplier, cap, jitter",
		`[]`:                                     "retry: must be a mapping, not a list",
	} {
		_, err := DecodeRetryJSON("retry", []byte(block))
		require.EqualError(t, err, want, block)
	}
	p, err := DecodeRetryJSON("retry", []byte(`{"initial_backoff": 2, "max_retries": 4, "time_budget": "none"}`))
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, *p.Base)
	require.Equal(t, 5, *p.MaxAttempts)
	require.Zero(t, *p.TimeBudget)
	p, err = DecodeRetryJSON("retry", []byte(" null "))
	require.NoError(t, err)
	require.True(t, p.IsZero())
	p, err = DecodeRetry("retry", map[string]any{"max_attempts": 7.0})
	require.NoError(t, err, "a number as encoding/json gives it")
	require.Equal(t, 7, *p.MaxAttempts)
}

// drawPatch draws any patch that a decoder could have let through.
func drawPatch(t *rapid.T, label string) RetryPatch {
	var p RetryPatch
	some := func(f func()) {
		if rapid.Bool().Draw(t, label) {
			f()
		}
	}
	duration := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(365*Day)).Draw(t, "ns"))
	})
	some(func() {
		v := rapid.SampledFrom([]retry.Kind{retry.Transient, retry.Indefinite, retry.NonRetryable}).Draw(t, "kind")
		p.Kind = &v
	})
	some(func() { v := rapid.IntRange(1, 32766).Draw(t, "max_attempts"); p.MaxAttempts = &v })
	some(func() {
		v := rapid.OneOf(duration, rapid.Just(time.Duration(0))).Draw(t, "time_budget")
		p.TimeBudget = &v
	})
	some(func() {
		v := rapid.SampledFrom([]retry.Backoff{retry.Exponential, retry.Linear, retry.Fixed}).Draw(t, "backoff")
		p.Backoff = &v
	})
	some(func() { v := duration.Draw(t, "base"); p.Base = &v })
	some(func() { v := rapid.Float64Range(1, 100).Draw(t, "multiplier"); p.Multiplier = &v })
	some(func() { v := duration.Draw(t, "cap"); p.Cap = &v })
	some(func() { v := rapid.Float64Range(0, 1).Draw(t, "jitter"); p.Jitter = &v })
	return p
}

func TestAPatchSurvivesItsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPatch(t, "said")
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var back RetryPatch
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, p, back, string(text))
	})
}

func TestWhateverLayersSayTheResultIsAPolicy(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "defaults: {retry: {base: 3s}}\ntenants: {acme: {queues: {q: {retry: {cap: 9s}}}, ceilings: {max_attempts: 9}}}")
	rapid.Check(t, func(t *rapid.T) {
		enqueue := Patch{Retry: drawPatch(t, "enqueue")}
		r := c.Resolve(Lookup{Tenant: "acme", Queue: rapid.SampledFrom([]string{"q", "p"}).Draw(t, "queue"), Description: Patch{Retry: drawPatch(t, "description")}})
		require.NoError(t, r.Retry.Validate("retry"))
		adjusted := r.Adjust(enqueue)
		require.NoError(t, adjusted.Retry.Validate("retry"))
		require.LessOrEqual(t, adjusted.Retry.MaxAttempts, 9)
		strict, err := r.Override("", enqueue)
		if err == nil {
			require.Equal(t, adjusted.Retry, strict.Retry, "where nothing is refused, nothing is corrected")
		}
	})
}

func TestTheSchemasRulesAreThoseOfRetry(t *testing.T) {
	t.Parallel()
	for _, block := range []map[string]any{
		{"max_attempts": 0}, {"max_attempts": 1}, {"max_attempts": 32766}, {"max_attempts": 32767},
		{"base": "0s"}, {"base": "1ns"}, {"cap": "0s"}, {"jitter": -0.1}, {"jitter": 0}, {"jitter": 1}, {"jitter": 1.01},
		{"multiplier": 0.99}, {"multiplier": 1}, {"multiplier": 1e9}, {"kind": "x"}, {"kind": "indefinite"}, {"backoff": "x"}, {"backoff": "linear"},
		{"time_budget": "-1s"}, {"time_budget": "none"}, {"base": "1s", "cap": "1s"}, {"base": "2s", "cap": "1s"},
	} {
		p, err := DecodeRetry("retry", block)
		if err == nil {
			err = CheckPatch("", Patch{Retry: p})
		}
		bare := retry.Default()
		apply(&bare, block)
		require.Equal(t, bare.Validate("retry") == nil, err == nil, "%v: config says %v, retry says %v", block, err, bare.Validate("retry"))
	}
}

// apply sets a policy's fields without any check.
func apply(p *retry.Policy, block map[string]any) {
	duration := func(v any) (d time.Duration) { d, _ = time.ParseDuration(v.(string)); return d }
	for key, v := range block {
		f, _ := readFloat(v, false)
		switch key {
		case "max_attempts":
			p.MaxAttempts = v.(int)
		case "base":
			p.Base = duration(v)
		case "cap":
			p.Cap = duration(v)
		case "time_budget":
			p.TimeBudget = duration(v)
		case "jitter":
			p.Jitter = f.(float64)
		case "multiplier":
			p.Multiplier = f.(float64)
		case "kind":
			p.Kind = retry.Kind(v.(string))
		case "backoff":
			p.Backoff = retry.Backoff(v.(string))
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	c := mustLoad(b, "defaults: {retry: {base: 3s}}\nqueues: {q: {retry: {cap: 2h}}}\ntenants: {acme: {defaults: {retry: {jitter: 0}}, queues: {q: {retry: {max_attempts: 4}}}}}")
	l, p := Lookup{Tenant: "acme", Queue: "q", Actor: "a"}, patch(b, map[string]any{"retry": map[string]any{"max_attempts": 2}})
	b.ReportAllocs()
	for b.Loop() {
		c.Resolve(l).Adjust(p)
	}
}
