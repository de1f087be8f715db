package classify_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func TestBuiltinsAreConfiguredStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, config, want string }{
		{classify.RateLimitAware, ``, ""},
		{classify.RateLimitAware, `{}`, ""},
		{classify.RateLimitAware, `{"claim_kind":"none","spread":1}`, ""},
		{classify.RateLimitAware, `{"claim_kind":"non_retryable"}`, "builtin:rate_limit_aware: claim_kind: must be indefinite | transient | none"},
		{classify.RateLimitAware, `{"claim_kind":null}`, "builtin:rate_limit_aware: claim_kind: must be indefinite | transient | none"},
		{classify.RateLimitAware, `{"claim_kind":""}`, "builtin:rate_limit_aware: claim_kind: must be indefinite | transient | none"},
		{classify.RateLimitAware, `{"spread":1.5}`, "builtin:rate_limit_aware: spread: must be 0..1"},
		{classify.RateLimitAware, `{"spread":"1"}`, "builtin:rate_limit_aware: spread: must be 0..1"},
		{classify.RateLimitAware, `{"Claim_Kind":"none"}`, "builtin:rate_limit_aware: Claim_Kind: unknown, must be one of claim_kind, spread"},
		{classify.RateLimitAware, `null`, "builtin:rate_limit_aware: config: must be a mapping"},
		{classify.FailureTaxonomy, `{"transient_status":[],"non_retryable_status":[404],"include_names":[],"exclude_names":["A"],"infer_timeout_by_suffix":true}`, ""},
		{classify.FailureTaxonomy, `{"transient_status":503}`, "builtin:failure_taxonomy: transient_status: must be a list of HTTP statuses, 100..999, or ranges such as \"500-599\""},
		{classify.FailureTaxonomy, `{"transient_status":[99]}`, "builtin:failure_taxonomy: transient_status: must be a list of HTTP statuses, 100..999, or ranges such as \"500-599\""},
		{classify.FailureTaxonomy, `{"non_retryable_status":[404.5]}`, "builtin:failure_taxonomy: non_retryable_status: must be a list of HTTP statuses, 100..999, or ranges such as \"500-599\""},
		{classify.FailureTaxonomy, `{"include_names":"A"}`, "builtin:failure_taxonomy: include_names: must be a list of names"},
		{classify.FailureTaxonomy, `{"exclude_names":[""]}`, "builtin:failure_taxonomy: exclude_names: must be a list of names, none of them empty"},
		{classify.FailureTaxonomy, `{"infer_timeout_by_suffix":1}`, "builtin:failure_taxonomy: infer_timeout_by_suffix: must be true or false"},
		{classify.FailureTaxonomy, `[]`, "builtin:failure_taxonomy: config: must be a mapping"},
		{"builtin:never", ``, `unknown classifier "builtin:never", there are builtin:failure_taxonomy and builtin:rate_limit_aware`},
	} {
		t.Run(c.name+" "+c.config, func(t *testing.T) {
			t.Parallel()
			_, err := classify.Builtin(c.name, json.RawMessage(c.config))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestWhatIsARateLimit(t *testing.T) {
	t.Parallel()
	denial := func(details string) *abi.Failure {
		return &abi.Failure{Class: abi.ClassLimitDenied, Origin: abi.OriginHost, Details: json.RawMessage(details)}
	}
	for _, c := range []struct {
		name    string
		failure *abi.Failure
		claim   bool
		delay   time.Duration // 0: the curve's
	}{
		{"the class", &abi.Failure{Class: "RateLimitError"}, true, 0},
		{"the class with its qualifier", &abi.Failure{Class: "*openai.RateLimitError"}, true, 0},
		{"an ancestor", &abi.Failure{Class: "acme.Slow", Ancestors: []string{"x", "y::RateLimitError<T>"}}, true, 0},
		{"a longer name", &abi.Failure{Class: "NoRateLimitError"}, false, 0},
		{"the class with a header and another status", &abi.Failure{Class: "RateLimitError", HTTP: &abi.HTTP{Status: 503, Headers: map[string]string{"Retry-After": "7"}}}, true, 7 * time.Second},
		{"the host's own limit", denial(`{"source":"rate_limit","limit":"x"}`), true, 0},
		{"the host's own limit, which knows when", denial(`{"source":"rate_limit","retry_after_ms":1500}`), true, 1500 * time.Millisecond},
		{"a reservation", denial(`{"source":"reservation","retry_after_ms":1500}`), false, 0},
		{"a denial without details", denial(``), false, 0},
		{"a denial with odd details", denial(`[1]`), false, 0},
		{"details that a guest copied", &abi.Failure{Class: "GuestError", Details: json.RawMessage(`{"source":"rate_limit"}`)}, false, 0},
		{"nothing of it", &abi.Failure{Class: "acme.Oops"}, false, 0},
		{"no failure at all", nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := builtin(t, classify.RateLimitAware, "").Classify(t.Context(), classify.Question{Failure: c.failure, OccurredAt: noon})
			require.NoError(t, err)
			require.Equal(t, c.claim, o != nil)
			if o == nil {
				return
			}
			require.Equal(t, retry.Indefinite, o.Kind)
			if c.delay == 0 {
				require.Nil(t, o.Delay)
			} else {
				require.Equal(t, c.delay, *o.Delay)
			}
		})
	}
}

func TestASpreadIsPassedOnWithADelayOnly(t *testing.T) {
	t.Parallel()
	b := builtin(t, classify.RateLimitAware, `{"spread":0.5}`)
	for headers, want := range map[string]float64{"10": 0.5, "abc": 0} {
		f := &abi.Failure{HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"Retry-After": headers}}}
		o, err := b.Classify(t.Context(), classify.Question{Failure: f})
		require.NoError(t, err)
		require.InDelta(t, want, o.Spread, 0)
	}
}

func TestTwoSpellingsOfAHeaderGiveOneAnswer(t *testing.T) {
	t.Parallel()
	b := builtin(t, classify.RateLimitAware, "")
	f := &abi.Failure{HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"retry-after": "1", "Retry-After": "2", "RETRY-AFTER": "3"}}}
	for range 50 {
		o, err := b.Classify(t.Context(), classify.Question{Failure: f})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, *o.Delay)
	}
}

func TestTheTaxonomyBeyondItsVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config string
		failure      *abi.Failure
		want         retry.Kind
	}{
		{"an attempt's own timeout", ``, &abi.Failure{Class: abi.ClassTimeout}, retry.Transient},
		{"a listed name may carry its qualifier", `{"include_names":["httpx.PoolFull"]}`, &abi.Failure{Class: "other.PoolFull"}, retry.Transient},
		{"an excluded one too", `{"exclude_names":["httpx.ReadTimeout"]}`, &abi.Failure{Class: "ReadTimeout"}, ""},
		{"both suffixes", `{"infer_timeout_by_suffix":true}`, &abi.Failure{Class: "PoolTimeoutError"}, retry.Transient},
		{"a name beats a status", ``, &abi.Failure{Class: "ReadTimeout", HTTP: &abi.HTTP{Status: 404}}, retry.Transient},
		{"an impossible status", ``, &abi.Failure{Class: "X", HTTP: &abi.HTTP{Status: -1}}, ""},
		{"a status beyond the table", ``, &abi.Failure{Class: "X", HTTP: &abi.HTTP{Status: 1000}}, ""},
		{"no failure at all", ``, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := builtin(t, classify.FailureTaxonomy, c.config).Classify(t.Context(), classify.Question{Failure: c.failure})
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, o)
				return
			}
			require.Equal(t, c.want, o.Kind)
		})
	}
}

func TestAConfiguredSetLeavesTheDefaultsAlone(t *testing.T) {
	t.Parallel()
	builtin(t, classify.FailureTaxonomy, `{"include_names":["A","B","C","D","E"]}`)
	o, err := builtin(t, classify.FailureTaxonomy, ``).Classify(t.Context(), classify.Question{Failure: &abi.Failure{Class: "ReadTimeout"}})
	require.NoError(t, err)
	require.NotNil(t, o)
}
