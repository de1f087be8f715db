package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAChainIsResolvedLikeAnyKeyTheNearestWins(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
defaults: {classifiers: ["builtin:failure_taxonomy"], execution: {inline_retries: {attempts: 2}}}
queues: {q: {classifiers: [partner, {use: "builtin:rate_limit_aware", with: {claim_kind: transient}}]}}
tenants: {acme: {actors: {own: {classifiers: [], execution: {inline_retries: {backoff: 1s}}}}}}
`)
	uses := func(l Lookup) (out []string) {
		for _, k := range c.Resolve(l).Classifiers {
			out = append(out, k.Use)
		}
		return out
	}
	require.Equal(t, []string{"builtin:failure_taxonomy"}, uses(Lookup{}))
	require.Equal(t, []string{"partner", "builtin:rate_limit_aware"}, uses(Lookup{Queue: "q"}))
	require.Empty(t, uses(Lookup{Tenant: "acme", Queue: "q", Actor: "own"}), "an empty list is a value")
	described, err := ChainOf("classifiers", []string{"shared/x"})
	require.NoError(t, err)
	require.Equal(t, []string{"builtin:failure_taxonomy"}, uses(Lookup{Description: Patch{Classifiers: described}}), "the configuration wins over a description")

	r := c.Resolve(Lookup{Queue: "q"})
	require.Nil(t, r.Classifiers[0].Native())
	require.NotNil(t, r.Classifiers[1].Native())
	require.Equal(t, Inline{2, 100 * time.Millisecond}, r.Inline)
	require.Equal(t, Inline{2, time.Second}, c.Resolve(Lookup{Tenant: "acme", Actor: "own"}).Inline)
}

func TestAClassifierIsCheckedWhereItIsNamed(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		`defaults: {classifiers: ["builtin:nobody"]}`:                                                 "defaults.classifiers: item 1 is an unknown classifier",
		`defaults: {classifiers: [{use: "builtin:rate_limit_aware", with: {claim_kind: always}}]}`:    "item 1 (builtin:rate_limit_aware): with.claim_kind: must be indefinite | transient | none",
		`defaults: {classifiers: [{use: "builtin:failure_taxonomy", with: {transient_status: [9]}}]}`: "with.transient_status: must be a list of HTTP statuses",
		`defaults: {classifiers: ["No Name"]}`:                                                        "item 1 isn't a classifier's name",
	} {
		_, err := load(t, "taskq.yaml", yaml)
		require.ErrorContains(t, err, want)
	}
	mustLoad(t, `defaults: {classifiers: [{use: "builtin:failure_taxonomy", with: {transient_status: [408, "500-599"]}}]}`)
	_, err := ChainOf("classifiers", []string{"builtin:x"})
	require.ErrorContains(t, err, "classifiers: ")
}

func TestRegistrationWarnsOfWhatMaySurprise(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
defaults: {classifiers: ["builtin:rate_limit_aware"]}
tenants: {acme: {ceilings: {max_attempts: 2}, actors: {
  lists: {retry_on: [A], non_retryable_errors: [B]},
  never: {retry: {kind: non_retryable, max_attempts: 1}},
  calm: {classifiers: [], retry: {max_attempts: 2}}}}}
`)
	warnings := func(actor string) []string {
		return c.RegistrationWarnings(Lookup{Tenant: "acme", Queue: "default", Actor: actor})
	}
	require.Equal(t, []string{
		"retry_on and non_retryable_errors are both set: retry_on alone counts",
		"builtin:rate_limit_aware may answer indefinite and there is no time_budget: a job without a deadline is retried for ever",
		"retry.max_attempts: 3 became 2 (the tenant's ceiling)",
	}, warnings("lists"))
	require.Contains(t, warnings("never"), "builtin:rate_limit_aware may make this non_retryable actor retry")
	require.Empty(t, warnings("calm"))
}
