package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRetryPlanIsAContract(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r := u.run("retry", "plan", "--kind", "transient", "--max-attempts", "3", "--backoff", "linear", "--base", "1s", "--cap", "1h", "--jitter", "0.5", "--cover", "10s", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	require.JSONEq(t, `{
		"policy": {"kind":"transient","max_attempts":3,"backoff":"linear","base":"1s","multiplier":2,"cap":"1h0m0s","jitter":0.5},
		"delays": [
			{"attempt":1,"delay_ms":1000,"low_ms":500,"high_ms":1500,"total_ms":1000},
			{"attempt":2,"delay_ms":2000,"low_ms":1000,"high_ms":3000,"total_ms":3000},
			{"attempt":3,"delay_ms":3000,"low_ms":1500,"high_ms":4500,"total_ms":6000}],
		"max_attempts_for": 5}`, r.stdout)

	r = u.run("retry", "plan", "--kind", "indefinite", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	var plan struct {
		Delays []struct{} `json:"delays"`
		Cover  *int       `json:"max_attempts_for"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &plan))
	require.Len(t, plan.Delays, 10)
	require.Nil(t, plan.Cover)

	r = u.run("retry", "plan", "--kind", "indefinite", "--max-retry-backoff", "7s")
	require.Contains(t, r.stdout, "budget — (indefinite)")
	require.Contains(t, r.stdout, "7s")
	require.Contains(t, u.run("retry", "plan", "--cover", "12h").stdout, "max_attempts 22 lasts 12h")
}

func TestRetryPlanOfWhatTheConfigurationGives(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file := u.file("taskq.yaml", "queues: {pay: {retry: {max_attempts: 2, base: 7s}}}\ntenants: {acme: {ceilings: {max_attempts: 1}}}\n")
	r := u.run("retry", "plan", "--config", file, "--queue", "pay")
	require.Equal(t, 0, r.code, r.stderr)
	require.Contains(t, r.stdout, "attempts 2, exponential from 7s")
	r = u.run("retry", "plan", "--config", file, "--queue", "pay", "--tenant", "acme", "--base", "9s")
	require.Contains(t, r.stdout, "attempts 1, exponential from 9s")
}

func TestRetryPlanRefusesNamingTheField(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for field, args := range map[string][]string{
		"max_attempts":      {"--max-attempts", "0"},
		"jitter":            {"--jitter", "1.5"},
		"base":              {"--base", "soon"},
		"cap":               {"--cap", "1s"},
		"multiplier":        {"--multiplier", "0.5"},
		"kind":              {"--kind", "forever"},
		"backoff":           {"--backoff", "none"},
		"max_retry_backoff": {"--max-retry-backoff", "0s"},
		"cover":             {"--cover", "-1h"},
		"attempts":          {"--attempts", "40000"},
	} {
		r := u.run(append([]string{"retry", "plan", "--json"}, args...)...)
		require.Equal(t, exitBadInput, r.code, field)
		require.Contains(t, r.stderr, "taskq-host: "+field+": ")
		require.Empty(t, r.stdout)
	}
}

func TestClassifierTryIsAContract(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	throttled := u.file("throttled.json", `{"class":"HttpError","message":"no","http":{"status":429,"headers":{"Retry-After":"Sun, 01 Mar 2026 12:02:00 GMT"}}}`)
	plain := u.file("plain.json", `{"class":"acme.Oops","message":"no"}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"builtin:rate_limit_aware", "--failure", throttled, "--now", "2026-03-01T12:00:00Z", "--attempt", "5"},
			`{"claim":true,"kind":"indefinite","delay_ms":120000,"decision":{"action":"retry","decided_by":"classifier:builtin:rate_limit_aware","kind":"indefinite","delay_ms":120000,"dead_reason":null}}`,
		},
		{
			[]string{"builtin:rate_limit_aware", "--config", `{"claim_kind":"none"}`, "--failure", throttled},
			`{"claim":false,"kind":null,"delay_ms":null,"decision":{"action":"retry","decided_by":"policy","kind":"transient","delay_ms":5000,"dead_reason":null}}`,
		},
		{
			[]string{"builtin:failure_taxonomy", "--failure", plain, "--attempt", "3"},
			`{"claim":false,"kind":null,"delay_ms":null,"decision":{"action":"fail","decided_by":"policy","kind":"transient","delay_ms":null,"dead_reason":"exhausted"}}`,
		},
	} {
		r := u.run(append([]string{"classifier", "try", "--json"}, c.args...)...)
		require.Equal(t, 0, r.code, r.stderr)
		require.JSONEq(t, c.want, r.stdout)
	}
	r := u.run("classifier", "try", fixture(t, "classify.wasm"), "--config", `{"trap":1}`, "--failure", plain, "--json")
	require.Equal(t, 0, r.code, r.stderr)
	require.Contains(t, r.stdout, `"claim": false`)
	require.Contains(t, r.stderr, "is broken and would be skipped")
	for _, args := range [][]string{
		{"builtin:nobody", "--failure", plain},
		{"builtin:rate_limit_aware", "--failure", plain, "--config", `{"claim_kind":"x"}`},
		{"builtin:rate_limit_aware", "--failure", plain, "--attempt", "0"},
		{"builtin:rate_limit_aware", "--failure", plain, "--now", "noon"},
		{"builtin:rate_limit_aware"},
		{fixture(t, "pure.wasm"), "--failure", plain},
	} {
		require.Equal(t, exitBadInput, u.run(append([]string{"classifier", "try"}, args...)...).code, args)
	}
}
