package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
)

// write puts a file into a folder of the test's own and returns its path.
func write(t testing.TB, name, content string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(at, []byte(content), 0o600))
	return at
}

func load(t testing.TB, name, content string) (*Config, error) {
	t.Helper()
	l, problems := parseLayer(name, []byte(content))
	if problems != nil {
		return nil, problems
	}
	return assemble([]*layer{l}, nil)
}

func mustLoad(t testing.TB, content string) *Config {
	t.Helper()
	c, err := load(t, "taskq.yaml", content)
	require.NoError(t, err)
	return c
}

func TestVectorsConfigMerge(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/vectors/config_merge.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name   string            `json:"name"`
			Layers []json.RawMessage `json:"layers"`
			Expect struct {
				Retry          map[string]any `json:"retry"`
				Classification map[string]any `json:"classification"`
			} `json:"expect"`
			Error *string `json:"error"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			var files []string
			for _, l := range tc.Layers {
				files = append(files, write(t, "layer.json", string(l)))
			}
			c, err := Load(Sources{Files: files})
			if tc.Error != nil {
				require.Error(t, err)
				require.True(t, strings.HasPrefix(err.Error(), *tc.Error+" ("), "got %q", err)
				return
			}
			require.NoError(t, err)
			r := c.Resolve(Lookup{Tenant: "default", Queue: "q", Actor: "a"})
			got := policyJSON(r)
			for key, want := range tc.Expect.Retry {
				require.Equal(t, want, got[key], key)
			}
			for key, want := range tc.Expect.Classification {
				require.Equal(t, want, map[string]any{
					"permanent": toAny(r.Classification.Permanent), "retryable": toAny(r.Classification.Retryable),
				}[key], key)
			}
		})
	}
}

func policyJSON(r Resolved) map[string]any {
	p := r.Retry.Canonical()
	return map[string]any{
		"kind": string(p.Kind), "max_attempts": float64(p.MaxAttempts), "backoff": string(p.Backoff),
		"base": p.Base.String(), "cap": p.Cap.String(), "multiplier": p.Multiplier, "jitter": p.Jitter,
	}
}

func toAny(list []string) []any {
	var out []any
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func TestWithoutAnySourceTheBuiltInValuesHold(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8420", c.Server.Listen)
	require.Equal(t, 64, c.Worker.Concurrency)
	require.Equal(t, []string{"*"}, c.Worker.Queues)
	require.Equal(t, 5*time.Minute, c.Host.DefaultStartToClose)
	require.Equal(t, Size(64<<20), c.Host.Memory)
	require.Equal(t, 60*time.Second, c.Lease.LockLease)
	require.Zero(t, c.Host.MaxIndefiniteAge)
	require.Empty(t, c.Warnings)

	r := c.Resolve(Lookup{Tenant: "t", Queue: "q", Actor: "a"})
	require.Equal(t, retry.Default(), r.Retry, "the schema's defaults are the policy's")
	require.Equal(t, 5*time.Minute, r.StartToClose)
	require.Equal(t, Size(1<<20), r.MaxPayload)
	require.Equal(t, Day, r.TTLSucceeded)
	require.Equal(t, 30*Day, r.DLQRetention)
	require.Equal(t, retry.DefaultSettings(), c.Host.RetrySettings())
}

func TestTheSchemaShipsThePoliciesOfRetry(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{})
	require.NoError(t, err)
	var r Resolved
	r.apply(Patch{Retry: c.Defaults.Retry}, fromBuiltin)
	require.Equal(t, retry.Default(), r.Retry)
}

func TestLaterLayersWinKeyByKey(t *testing.T) {
	t.Parallel()
	first := write(t, "first.yaml", "worker: {concurrency: 1, batch_size: 1, poll_interval: 1s}\nqueues: {payments.charge: {retry: {max_attempts: 8}}}")
	second := write(t, "second.toml", "[worker]\nbatch_size = 2\npoll_interval = \"2s\"\n[queues.\"payments.charge\".retry]\nbase = \"7s\"")
	third := write(t, "third.json", `{"worker": {"poll_interval": "3s"}}`)
	c, err := Load(Sources{
		Files:   []string{first, second, third},
		Environ: []string{"PATH=/bin", "TASKQ_WORKER__PREFETCH=4s", "TASKQ_WORKER__QUEUES=a, b*"},
		Flags:   map[string]Flag{"worker.prefetch": {Name: "prefetch", Value: "5s"}},
	})
	require.NoError(t, err)
	require.Equal(t, Worker{
		Concurrency: 1, BatchSize: 2, PollInterval: 3 * time.Second, Prefetch: 5 * time.Second,
		Queues: []string{"a", "b*"}, Tenants: []string{"*"},
	}, c.Worker)
	require.Len(t, c.Queues, 1, "a name with a dot is one key")
	policy := c.Resolve(Lookup{Queue: "payments.charge"}).Retry
	require.Equal(t, 8, policy.MaxAttempts)
	require.Equal(t, 7*time.Second, policy.Base)

	origins := map[string]string{}
	for _, row := range c.Effective() {
		origins[row.Path] = row.Origin
	}
	require.Equal(t, first, origins["worker.concurrency"])
	require.Equal(t, second, origins["worker.batch_size"])
	require.Equal(t, third, origins["worker.poll_interval"])
	require.Equal(t, "flag --prefetch", origins["worker.prefetch"])
	require.Equal(t, "env TASKQ_WORKER__QUEUES", origins["worker.queues"])
	require.Equal(t, "built-in", origins["lease.lock_lease"])
	require.Equal(t, second, origins["queues.payments.charge.retry.base"])
}

func TestNoneIsAValueAndAMissingKeyInherits(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
host: {default_start_to_close: none}
defaults: {limits: {ttl_succeeded: 2h}, execution: {start_to_close: 1m}}
queues:
  q: {limits: {ttl_succeeded: none}, execution: {start_to_close: none}}
  r: {}
`)
	require.Zero(t, c.Host.DefaultStartToClose)
	q := c.Resolve(Lookup{Queue: "q"})
	require.Zero(t, q.TTLSucceeded)
	require.Zero(t, q.StartToClose)
	r := c.Resolve(Lookup{Queue: "r"})
	require.Equal(t, 2*time.Hour, r.TTLSucceeded)
	require.Equal(t, time.Minute, r.StartToClose)
}

func TestEveryProblemIsNamedAtOnceWithItsLine(t *testing.T) {
	t.Parallel()
	_, err := load(t, "taskq.yaml", `config_version: 1
worker:
  concurency: 3
  batch_size: many
lease:
  lock_lease: 10s
defaults:
  retry: {jitter: 1.5}
`)
	require.EqualError(t, err, strings.Join([]string{
		`defaults.retry.jitter: must be 0..1 (taskq.yaml:8)`,
		`worker.batch_size: must be a whole number, not text (taskq.yaml:4)`,
		`worker.concurency: unknown, did you mean concurrency (taskq.yaml:3)`,
		`lease.lock_lease: must be >= 58s, which is max(heartbeat_interval, heartbeat_command_timeout) + (max_heartbeat_failures + 1) × (heartbeat_interval + heartbeat_command_timeout) (taskq.yaml)`,
	}, "\n"))
}

func TestOtherNamesBecomeTheRealOnes(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
defaults:
  retry: {retry_backoff: 1.5, backoff_multiplier: 3, max_retry_delay: 2m, max_retries: 0, retryable_errors: [A], non_retryable_errors: [B]}
  execution: {timeout: 3s}
  limits: {task_ttl: 1d}
queues:
  q: {retry: {initial_backoff: 2}, execution: {handler_timeout: 4s, sync_retry: {attempts: 2}}}
tenants:
  acme: {actors: {charge: {dont_retry_on: [C]}}}
`)
	d := c.Resolve(Lookup{})
	require.Equal(t, 1500*time.Millisecond, d.Retry.Base)
	require.Equal(t, 2*time.Minute, d.Retry.Cap)
	require.Equal(t, 3.0, d.Retry.Multiplier)
	require.Equal(t, 1, d.Retry.MaxAttempts)
	require.Equal(t, []string{"A"}, d.Classification.Retryable)
	require.Equal(t, []string{"B"}, d.Classification.Permanent)
	require.Equal(t, 3*time.Second, d.StartToClose)
	require.Equal(t, Day, d.TTLSucceeded)
	q := c.Resolve(Lookup{Queue: "q"})
	require.Equal(t, 2*time.Second, q.Retry.Base)
	require.Equal(t, 4*time.Second, q.StartToClose)
	require.Equal(t, 2, *c.Queues["q"].Execution.InlineRetries.Attempts)
	require.Equal(t, []string{"C"}, c.Tenants["acme"].Actors["charge"].NonRetryableErrors)
}

func TestInDifferentLayersTheLaterNameWins(t *testing.T) {
	t.Parallel()
	a := write(t, "a.yaml", "defaults: {retry: {base: 1s}}")
	b := write(t, "b.yaml", "defaults: {retry: {initial_backoff: 2s}}")
	c, err := Load(Sources{Files: []string{a, b}})
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, c.Resolve(Lookup{}).Retry.Base)
	c, err = Load(Sources{Files: []string{b, a}, Environ: []string{"TASKQ_DEFAULTS__RETRY__MAX_BACKOFF=3s"}})
	require.NoError(t, err)
	require.Equal(t, time.Second, c.Resolve(Lookup{}).Retry.Base)
	require.Equal(t, 3*time.Second, c.Resolve(Lookup{}).Retry.Cap)
	require.Contains(t, c.Effective(), Row{Path: "defaults.retry.cap", Value: "3s", Origin: "env TASKQ_DEFAULTS__RETRY__MAX_BACKOFF"})
}

func TestSettingsMergeKeyByKeyAcrossFiles(t *testing.T) {
	t.Parallel()
	a := write(t, "a.yaml", "tenants: {acme: {actors: {x: {settings: {Region: eu, limits: {n: 1}, 'odd.key': [1, {k: v}]}}}}}")
	b := write(t, "b.json", `{"tenants": {"acme": {"actors": {"x": {"settings": {"limits": {"m": 2}}}}}}}`)
	c, err := Load(Sources{Files: []string{a, b}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"Region": "eu", "limits": map[string]any{"n": 1, "m": 2}, "odd.key": []any{1, map[string]any{"k": "v"}},
	}, c.Tenants["acme"].Actors["x"].Settings)
	i := slices.IndexFunc(c.Effective(), func(r Row) bool { return r.Path == "tenants.acme.actors.x.settings.limits.m" })
	require.Equal(t, b, c.Effective()[i].Origin)

	dated, err := load(t, "t.toml", "[tenants.acme.actors.x.settings]\nday = 2026-01-31\nat = 2026-01-31T01:02:03Z\nn = 3\n")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"day": "2026-01-31", "at": "2026-01-31T01:02:03Z", "n": 3}, dated.Tenants["acme"].Actors["x"].Settings)
	_, err = load(t, "t.toml", "[server]\nlisten = 2026-01-31\n")
	require.ErrorContains(t, err, "server.listen: must be text, not something else (t.toml)")
}

func TestKeysOfLaterReleasesAreNeverIgnoredSilently(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
host: {fuel: none}
defaults: {classifiers: [partner-errors, {use: builtin:rate_limit_aware, with: {claim_kind: transient}}], handler: {version_mismatch: run-latest}}
queues: {q: {worker: {rate_limit: 100/s}}}
tenants: {acme: {weight: 2, actors: {charge: {grants: {kv: true}, retry: {max_attempts: 2}}}}}
worker: {tenants: ["*"]}
`)
	require.Equal(t, []string{
		"queues.q.worker.rate_limit: accepted, not used by this release yet (taskq.yaml)",
		"tenants.acme.actors.charge.grants.kv: accepted, not used by this release yet (taskq.yaml)",
		"tenants.acme.weight: accepted, not used by this release yet (taskq.yaml)",
	}, c.Warnings)

	_, err := load(t, "taskq.yaml", "server: {tls: {cert: a.pem, key: b.pem}}\nworker: {tenants: [acme]}")
	require.ErrorContains(t, err, "server.tls.cert: isn't in this release")
	require.ErrorContains(t, err, "worker.tenants: isn't in this release")
}

func TestEveryEntryOfLaterNamesAKey(t *testing.T) {
	t.Parallel()
	for _, entry := range slices.Concat(later, laterRefused) {
		entry = strings.ReplaceAll(entry, "*.", "")
		found := false
		schema.walk(nil, func(p path, _ *node) {
			plain := strings.Join(slices.DeleteFunc(slices.Clone(p), func(k string) bool { return strings.HasPrefix(k, "<") }), ".")
			found = found || strings.HasSuffix(plain, entry)
		})
		require.True(t, found, entry)
	}
}

func TestSettingsOfPoliciesWithoutEffectAreWarnedOf(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "queues: {a: {retry: {time_budget: 1h}}, b: {retry: {kind: indefinite}}, c: {retry: {kind: indefinite, time_budget: 1h}}}")
	require.Equal(t, []string{
		"queues.a.retry: time_budget is ignored: only the kind indefinite has one",
		"queues.b.retry: indefinite with neither a time_budget nor a deadline: a failing job is retried for ever",
	}, c.Warnings)
}
