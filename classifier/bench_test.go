package classifier_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func throttled() classify.Input {
	return classify.Input{
		Ending: classify.Failed, Policy: retry.Default(), Attempt: 1, OccurredAt: noon, Random: 1 << 63,
		Failure: &abi.Failure{
			Class: "acme.PartnerError", Ancestors: []string{"acme.HttpError", "error"}, Message: "slow down",
			HTTP: &abi.HTTP{Status: 429, Headers: map[string]string{"retry-after": "120"}},
		},
	}
}

func builtins(b *testing.B) classify.Chain {
	var chain classify.Chain
	for _, name := range []string{classify.FailureTaxonomy, classify.RateLimitAware} {
		c, err := classify.Builtin(name, nil)
		require.NoError(b, err)
		chain = append(chain, c)
	}
	return chain
}

var rules = classify.Rules{
	NonRetryable: []string{"*.ValidationException", "stripe.CardDeclined"},
	Permanent:    []string{"*.AuthError", "java.lang.*"}, Retryable: []string{"TIMEOUT", "java.net.*"},
}

// The whole ladder with globs and both built-in classifiers.
func BenchmarkLadderNative(b *testing.B) {
	l := classify.Ladder{Settings: retry.DefaultSettings(), Rules: rules, Chain: builtins(b)}
	in := throttled()
	for b.Loop() {
		if d := l.Decide(context.Background(), in); d.Delay != 2*time.Minute {
			b.Fatal(d)
		}
	}
}

// The same with one small module in front, whose answer isn't remembered.
func BenchmarkLadderOneModule(b *testing.B) {
	c := classifier.New("partner", classifier.Found(load(b, "classify")), json.RawMessage(`{"delay_ms":120000,"kind":"transient"}`))
	c.Timeout = patient
	l := classify.Ladder{Settings: retry.DefaultSettings(), Rules: rules, Chain: append(classify.Chain{c}, builtins(b)...)}
	in := throttled()
	for b.Loop() {
		if d := l.Decide(context.Background(), in); d.DecidedBy != "classifier:partner" {
			b.Fatal(d)
		}
	}
}
