package classify_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func TestATrialShowsTheClaimAndWhatTheLadderMakesOfIt(t *testing.T) {
	t.Parallel()
	plain := &abi.Failure{Class: "acme.Oops"}
	throttled := &abi.Failure{Class: "acme.Oops", HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"Retry-After": "120"}}}
	for name, c := range map[string]struct {
		classifier classify.Classifier
		failure    *abi.Failure
		attempt    int
		want       string
	}{
		"a claim with a delay": {
			builtin(t, classify.RateLimitAware, ""), throttled, 9,
			`{"claim":true,"kind":"indefinite","delay_ms":120000,"decision":{"action":"retry","decided_by":"classifier:builtin:rate_limit_aware","kind":"indefinite","delay_ms":120000,"dead_reason":null}}`,
		},
		"no claim": {
			builtin(t, classify.RateLimitAware, ""), plain, 1,
			`{"claim":false,"kind":null,"delay_ms":null,"decision":{"action":"retry","decided_by":"policy","kind":"transient","delay_ms":5000,"dead_reason":null}}`,
		},
		"a claim that ends it": {
			answers("x", &classify.Override{Kind: retry.NonRetryable}), plain, 1,
			`{"claim":true,"kind":"non_retryable","delay_ms":null,"decision":{"action":"fail","decided_by":"classifier:x","kind":"non_retryable","delay_ms":null,"dead_reason":"non_retryable"}}`,
		},
		"a rung above doesn't hide the claim": {
			builtin(t, classify.RateLimitAware, ""), &abi.Failure{Class: "x", Permanent: true, HTTP: throttled.HTTP}, 1,
			`{"claim":true,"kind":"indefinite","delay_ms":120000,"decision":{"action":"fail","decided_by":"guest","kind":"transient","delay_ms":null,"dead_reason":"non_retryable"}}`,
		},
		"one that is broken claims nothing": {
			breaks("x", errors.New("trap")), plain, 3,
			`{"claim":false,"kind":null,"delay_ms":null,"decision":{"action":"fail","decided_by":"policy","kind":"transient","delay_ms":null,"dead_reason":"exhausted"}}`,
		},
		"nor does nonsense": {
			answers("x", &classify.Override{Kind: "whatever"}), plain, 3,
			`{"claim":false,"kind":null,"delay_ms":null,"decision":{"action":"fail","decided_by":"policy","kind":"transient","delay_ms":null,"dead_reason":"exhausted"}}`,
		},
	} {
		trial := classify.Try(t.Context(), c.classifier, c.failure, c.attempt, noon)
		text, err := json.Marshal(trial)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(text), name)
		require.Equal(t, c.classifier.Name() == "x" && !trial.Claim, trial.Broken != nil, name)
	}
}
