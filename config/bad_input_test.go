package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadFilesAreRefusedWithTheirRule(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	long := strings.Repeat("k", 300)
	for name, tc := range map[string]struct{ file, content, want string }{
		"10 MB":                             {"t.yaml", strings.Repeat("# comment\n", 1<<20), "is longer than 1MiB (t.yaml)"},
		"anchors that hold themselves":      {"t.yaml", "queues: &q\n  a: *q\n", "queues.a: the alias *q contains itself (t.yaml:2)"},
		"anchors that expand":               {"t.yaml", bomb.String(), "aliases expand to too much"},
		"nesting":                           {"t.yaml", strings.Repeat("[", 5000), "isn't YAML"},
		"nesting within the parser's limit": {"t.yaml", strings.Repeat("{a: ", 100) + strings.Repeat("}", 100), "is nested too deeply"},
		"a key twice in YAML":               {"t.yaml", "worker:\n  batch_size: 1\n  batch_size: 2\n", "worker.batch_size: is there twice (t.yaml:3)"},
		"a key twice in JSON":               {"t.json", `{"worker": {"batch_size": 1, "batch_size": 2}}`, "worker.batch_size: is there twice (t.json)"},
		"a key twice in TOML":               {"t.toml", "[worker]\nbatch_size = 1\nbatch_size = 2\n", "isn't TOML"},
		"two documents":                     {"t.yaml", "worker: {}\n---\nserver: {}\n", "holds more than one document (t.yaml)"},
		"broken YAML":                       {"t.yaml", "worker: {\n", "isn't YAML"},
		"broken JSON":                       {"t.json", "{\n\"worker\": {", "isn't JSON: unexpected EOF (t.json:2)"},
		"something after JSON":              {"t.json", "{} {}", "isn't JSON: something follows the object"},
		"deep JSON":                         {"t.json", strings.Repeat(`{"a":`, 3000), "nested too deeply"},
		"deep TOML":                         {"t.toml", "a = " + strings.Repeat("[", 500_000), "is nested too deeply"},
		"deep dotted TOML":                  {"t.toml", strings.Repeat("a.", 200_000) + "a = 1", "is nested too deeply"},
		"a list at the top":                 {"t.yaml", "- a\n", "must be a mapping, not a list (t.yaml)"},
		"text at the top of JSON":           {"t.json", `"a"`, "must be a mapping, not text (t.json)"},
		"NUL":                               {"t.yaml", "worker: {queues: [\"a\x00\"]}", "holds a NUL (t.yaml)"},
		"an escaped NUL in YAML":            {"t.yaml", `queues: {"a\0b": {}}`, "holds a NUL (t.yaml)"},
		"an escaped NUL in JSON":            {"t.json", `{"server": {"listen": "\u0000"}}`, "holds a NUL (t.json)"},
		"invalid UTF-8":                     {"t.json", "{\"\xff\": 1}", "isn't valid UTF-8 (t.json)"},
		"a key too long":                    {"t.yaml", long + ": 1", "has a key of more than 256 bytes (t.yaml:1)"},
		"a key too long in JSON":            {"t.json", `{"` + long + `": 1}`, "has a key of more than 256 bytes (t.json)"},
		"a mapping as a key":                {"t.yaml", "{a: b}: c", "a key must be plain text (t.yaml:1)"},
		"a tag":                             {"t.yaml", "server: {listen: !secret x}", "server.listen: has the tag !secret"},
		"another extension":                 {"t.ini", "", "isn't .yaml, .toml or .json (t.ini)"},
		"config_version of later":           {"t.yaml", "config_version: 2", "config_version: must be 1..1 (t.yaml:1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tc.file, tc.content)
			require.ErrorContains(t, err, tc.want)
			require.IsType(t, Errors{}, err)
			require.Less(t, len(err.Error()), 20_000)
		})
	}
}

func TestAFileThatIsntThereOrNoFileIsRefused(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.yaml")
	folder := filepath.Join(t.TempDir(), "folder.yaml")
	require.NoError(t, os.Mkdir(folder, 0o700))
	long := write(t, "long.yaml", "worker: {}\n")
	require.NoError(t, os.Truncate(long, 10<<20))
	_, err := Load(Sources{Files: []string{missing, folder, long}})
	require.EqualError(t, err, "no such file or directory ("+missing+")\nisn't a regular file ("+folder+")\nis longer than 1MiB ("+long+")")
}

func TestAKeyMisspeltAtEachLevelIsNamedWithTheNearest(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"qeues: {}":                     "qeues: unknown, did you mean queues (",
		"Worker: {}":                    "Worker: unknown, did you mean worker (",
		"server: {listn: x}":            "server.listn: unknown, did you mean listen (",
		"server: {tls: {crt: x}}":       "server.tls.crt: unknown, did you mean cert (",
		"host: {max-deferral: 1s}":      "host.max-deferral: unknown, did you mean max_deferral (",
		"defaults: {retry: {jiter: 1}}": "defaults.retry.jiter: unknown, did you mean jitter (",
		"defaults: {execution: {inline_retries: {attempt: 1}}}":         "defaults.execution.inline_retries.attempt: unknown, did you mean attempts (",
		"queues: {q: {retyr: {}}}":                                      "queues.q.retyr: unknown, did you mean retry (",
		"queues: {q: {max_attempts: 1}}":                                "queues.q.max_attempts: unknown, did you mean retry.max_attempts (",
		"queues: {q: {limits: {frobnicate: 1}}}":                        "queues.q.limits.frobnicate: unknown; known here are ttl_succeeded, dlq_retention, max_payload, rate, concurrency (",
		"tenants: {t: {ceiling: {}}}":                                   "tenants.t.ceiling: unknown, did you mean ceilings (",
		"tenants: {t: {ceilings: {max_atempts: 1}}}":                    "tenants.t.ceilings.max_atempts: unknown, did you mean max_attempts (",
		"tenants: {t: {queues: {q: {retry: {bse: 1}}}}}":                "tenants.t.queues.q.retry.bse: unknown, did you mean base (",
		"tenants: {t: {actors: {a: {mappr: x}}}}":                       "tenants.t.actors.a.mappr: unknown, did you mean mapper (",
		"tenants: {t: {actors: {a: {hooks: {succes: x}}}}}":             "tenants.t.actors.a.hooks.succes: unknown, did you mean success (",
		"tenants: {t: {actors: {a: {retry: {retryable_errors: [A]}}}}}": "tenants.t.actors.a.retry.retryable_errors: unknown",
		"host: {pool: {size: 1}}":                                       "host.pool: unknown",
	} {
		_, err := load(t, "taskq.yaml", content)
		require.ErrorContains(t, err, want, content)
	}
}

func TestWrongValuesAreNamedWithTheirRule(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"worker: 3":                                                      "worker: must be a section with keys of its own, not a number (",
		"worker: {concurrency: '3'}":                                     "worker.concurrency: must be a whole number, not text (",
		"worker: {concurrency: 3.5}":                                     "worker.concurrency: must be a whole number (",
		"worker: {concurrency: 99999999999999999999}":                    "worker.concurrency: must be a whole number (",
		"worker: {concurrency: 18446744073709551615}":                    "worker.concurrency: must be a whole number of a sensible size (",
		"worker: {concurrency: 0}":                                       "worker.concurrency: must be 1..100000 (",
		"worker: {concurrency: }":                                        "worker.concurrency: has no value; leave the key out to inherit (",
		"worker: {queues: payments}":                                     "worker.queues: must be a list, not text (",
		"worker: {queues: []}":                                           "worker.queues: must be a list that names something (",
		"worker: {queues: [1]}":                                          "worker.queues: item 1 must be text, not a number (",
		"worker: {queues: ['a b']}":                                      "worker.queues: must be made of names, * and ? (",
		"worker: {poll_interval: 5}":                                     "worker.poll_interval: must be a duration with its unit, such as 500ms, 1h30m or 30d, not a number (",
		"worker: {poll_interval: 5 s}":                                   `worker.poll_interval: "5 s" isn't a duration such as 500ms, 1h30m or 30d (`,
		"worker: {poll_interval: -5s}":                                   "worker.poll_interval: must be 1ms..1h (",
		"worker: {poll_interval: none}":                                  `worker.poll_interval: "none" isn't a duration`,
		"host: {max_deferral: 999999999d}":                               "host.max_deferral: \"999999999d\" isn't a duration",
		"host: {memory: 64}":                                             "host.memory: must be a size with its unit",
		"host: {memory: 64MB}":                                           `host.memory: "64MB" isn't a size such as 512B, 64KiB, 16MiB or 2GiB (`,
		"host: {memory: 99999999999GiB}":                                 "host.memory: \"99999999999GiB\" isn't a size",
		"host: {min_deferral: 2h, max_retry_backoff: 1h}":                "host.max_retry_backoff: must be >= min_deferral (2h0m0s) (",
		"host: {max_deferral: 1ms}":                                      "host.max_deferral: must be >= min_deferral (1s) (",
		"server: {listen: 8420}":                                         "server.listen: must be text, not a number (",
		"server: {listen: localhost}":                                    "server.listen: must be host:port (",
		"server: {listen: 'localhost:99999'}":                            "server.listen: must be host:port (",
		"database: {schema: 'x; drop'}":                                  "database.schema: must be a plain SQL name",
		"database: {url: 'mysql://u:hunter2@h/d'}":                       "database.url: must be a postgres:// URL or a keyword string such as host=… dbname=… (",
		"queues: {Payments: {}}":                                         "queues.Payments: isn't a queue's name: must match [a-z0-9][a-z0-9._-]{0,239} (",
		"queues: {a/b: {}}":                                              "queues.a/b: isn't a queue's name",
		"queues: {q: {retry: {base: 0s}}}":                               "queues.q.retry.base: must be > 0 (",
		"queues: {q: {retry: {base: 5}}}":                                "queues.q.retry.base: must be a duration with its unit",
		"queues: {q: {retry: {initial_backoff: 0}}}":                     "queues.q.retry.initial_backoff: must be > 0 seconds",
		"queues: {q: {retry: {initial_backoff: -1s}}}":                   "queues.q.retry.initial_backoff: must be > 0 (",
		"queues: {q: {retry: {base: 10s, cap: 5s}}}":                     "queues.q.retry.cap: must be >= base (10s) (",
		"queues: {q: {retry: {base: 2h}}}":                               "queues.q.retry.base: must be <= cap (1h) (",
		"queues: {q: {retry: {jitter: 1.5}}}":                            "queues.q.retry.jitter: must be 0..1 (",
		"queues: {q: {retry: {jitter: .nan}}}":                           "queues.q.retry.jitter: must be a finite number (",
		"queues: {q: {retry: {multiplier: 0.5}}}":                        "queues.q.retry.multiplier: must be >= 1 (",
		"queues: {q: {retry: {multiplier: .inf}}}":                       "queues.q.retry.multiplier: must be a finite number (",
		"queues: {q: {retry: {max_attempts: 0}}}":                        "queues.q.retry.max_attempts: must be 1..32766 (",
		"queues: {q: {retry: {max_attempts: 32767}}}":                    "queues.q.retry.max_attempts: must be 1..32766 (",
		"queues: {q: {retry: {max_retries: 32766}}}":                     "queues.q.retry.max_retries: must be 0..32765 (",
		"queues: {q: {retry: {max_retries: many}}}":                      "queues.q.retry.max_retries: must be a whole number, not text (",
		"queues: {q: {retry: {kind: transitory}}}":                       "queues.q.retry.kind: must be transient | indefinite | non_retryable (",
		"queues: {q: {retry: {time_budget: 0s}}}":                        "queues.q.retry.time_budget: must be > 0 (",
		"queues: {q: {retry: {initial_backoff: 1s, retry_backoff: 1s}}}": "queues.q.retry: initial_backoff and retry_backoff name one field (",
		"queues: {q: {retry: {non_retryable_errors: [A]}, classification: {permanent: [B]}}}": "queues.q: classification.permanent and retry.non_retryable_errors name one field (",
		"queues: {q: {retry: {non_retryable_errors: A}}}":                                     "queues.q.retry.non_retryable_errors: must be a list, not text (",
		"queues: {q: {classifiers: [{us: x}]}}":                                               `queues.q.classifiers: item 1 has the unknown key "us"; known are use, with (`,
		"queues: {q: {classifiers: [3]}}":                                                     "queues.q.classifiers: item 1 must be a name or {use: …, with: {…}}, not a number (",
		"queues: {q: {worker: {rate_limit: 100}}}":                                            "queues.q.worker.rate_limit: must be a rate such as 100/s, not a number, or none (",
		"queues: {q: {execution: {lease: 20s}}}":                                              "queues.q.execution.lease: must be >= 58s, which is max(",
		"queues: {q: {execution: {heartbeat_timeout: 13s}}}":                                  "queues.q.execution.heartbeat_timeout: must be >= 14s, which is heartbeat_interval + 2 × heartbeat_command_timeout (",
		"server: {listen: [a]}":                                                               "server.listen: must be text, not a list (",
		"tenants: {t: {actors: {a: {settings: [1]}}}}":                                        "tenants.t.actors.a.settings: must be a mapping, not a list (",
		"tenants: {t: {actors: {a: {grants: {http: ['https://u:p@h']}}}}}":                    "tenants.t.actors.a.grants.http: must be origins such as https://api.example.com (",
		"tenants: {t: {actors: {a: {grants: {kv: yes please}}}}}":                             "tenants.t.actors.a.grants.kv: must be true or false, not text (",
	} {
		_, err := load(t, "taskq.yaml", content)
		require.ErrorContains(t, err, want, content)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestCapsAreCheckedUnderEveryBlockThatMayLieBelow(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"queues: {q: {retry: {base: 10s}}}\ntenants: {t: {defaults: {retry: {cap: 7s}}}}":                                   "tenants.t.defaults.retry.cap: must be >= base (10s) (",
		"queues: {q: {retry: {base: 10s}}}\ntenants: {t: {queues: {q: {retry: {cap: 7s}}}}}":                                "tenants.t.queues.q.retry.cap: must be >= base (10s) (",
		"tenants: {t: {queues: {q: {retry: {cap: 7s}}}, actors: {a: {retry: {base: 8s}}}}}":                                 "tenants.t.actors.a.retry.base: must be <= cap (7s) (",
		"queues: {q: {retry: {cap: 7s}}}\ntenants: {t: {defaults: {retry: {jitter: 0}}, actors: {a: {retry: {base: 8s}}}}}": "tenants.t.actors.a.retry.base: must be <= cap (7s) (",
	} {
		_, err := load(t, "taskq.yaml", content)
		require.ErrorContains(t, err, want, content)
		require.Len(t, err, 1)
	}
	mustLoad(t, "queues: {q: {retry: {base: 10s}}}\ntenants: {t: {defaults: {retry: {base: 1s, cap: 7s}}, actors: {a: {retry: {base: 1s, cap: 2s}}}}}")
}

func TestEnvironmentIsStrictWhereANameIsOurs(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"TASKQ_WORKER__CONCURENCY=1":           "TASKQ_WORKER__CONCURENCY: unknown, did you mean TASKQ_WORKER__CONCURRENCY (env)",
		"TASKQ_WORKER_CONCURRENCY=1":           "TASKQ_WORKER_CONCURRENCY: unknown, did you mean TASKQ_WORKER__CONCURRENCY (env)",
		"TASKQ_DATABASE_URL=x":                 "TASKQ_DATABASE_URL: unknown, did you mean TASKQ_DATABASE__URL (env)",
		"TASKQ_FROB__NICATE=1":                 "TASKQ_FROB__NICATE: unknown, and no key is near it (env)",
		"TASKQ_QUEUES__Q__RETRY__BASE=1s":      "TASKQ_QUEUES__Q__RETRY__BASE: a key below a name that you choose can't be set here, only in a file (env)",
		"TASKQ_WORKER__CONCURRENCY=many":       "worker.concurrency: must be a whole number, not text (env TASKQ_WORKER__CONCURRENCY)",
		"TASKQ_DEFAULTS__RETRY__JITTER=2":      "defaults.retry.jitter: must be 0..1 (env TASKQ_DEFAULTS__RETRY__JITTER)",
		"TASKQ_DEFAULTS__RETRY__JITTER=":       "defaults.retry.jitter: must be a number, not text (env TASKQ_DEFAULTS__RETRY__JITTER)",
		"TASKQ_DEFAULTS__RETRY__MAX_RETRIES=x": "defaults.retry.max_retries: must be a whole number, not text (env TASKQ_DEFAULTS__RETRY__MAX_RETRIES)",
	} {
		_, err := Load(Sources{Environ: []string{environ}})
		require.EqualError(t, err, want, environ)
	}
	c, err := Load(Sources{Environ: []string{
		"TASKQ_PORT=tcp://10.0.0.1:80", "TASKQ_PORT_8420_TCP_ADDR=10.0.0.1", "TASKQ_SERVICE_HOST=10.0.0.1",
		"TASKQ_TOKEN=x", "TASKQ_SERVER=https://h", "TASKQ_TEST_DATABASE_URL=postgres://", "TASKQ_COMPILE_WORKER=1",
		"TASKQ_CONFIG_VERSION=1", "TASKQ_DEFAULTS__CLASSIFIERS=a,builtin:failure_taxonomy", "TASKQ_DEFAULTS__RETRY__INITIAL_BACKOFF=2",
	}})
	require.NoError(t, err, "names of somebody else's are left alone")
	require.Equal(t, []Classifier{{Use: "a"}, {Use: "builtin:failure_taxonomy"}}, c.Defaults.Classifiers)
}

func TestFlagsNameOnlyFixedKeys(t *testing.T) {
	t.Parallel()
	for _, dots := range []string{"worker", "worker.x", "queues.q.retry.base", "", "."} {
		_, err := Load(Sources{Flags: map[string]Flag{dots: {Name: "f", Value: "1s"}}})
		require.ErrorContains(t, err, "can't be set by a flag (flag --f)", dots)
	}
	_, err := Load(Sources{Flags: map[string]Flag{"server.listen": {Name: "listen", Value: "nowhere"}}})
	require.EqualError(t, err, "server.listen: must be host:port (flag --listen)")
}

func TestAReportIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "wrong%d: 1\n", i)
	}
	_, err := load(t, "taskq.yaml", b.String())
	problems := Errors(nil)
	require.True(t, errors.As(err, &problems))
	require.Contains(t, err.Error(), "\nand ")
	require.Less(t, strings.Count(err.Error(), "\n"), maxProblems+2)
}

func TestYAMLAnchorsAndMergeKeysWork(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
defaults: {retry: &slow {base: 1m, cap: 2h}}
queues:
  a: {retry: *slow}
  b: {retry: {<<: *slow, cap: 3h}}
  c: {retry: {<<: [{max_attempts: 9}, *slow]}}
`)
	require.Equal(t, "1m0s", c.Queues["a"].Retry.Base.String())
	require.Equal(t, "3h0m0s", c.Queues["b"].Retry.Cap.String())
	require.Equal(t, 9, *c.Queues["c"].Retry.MaxAttempts)
}

func FuzzLoad(f *testing.F) {
	for i, seed := range []string{
		"config_version: 1\nqueues: {q: {retry: {max_attempts: 8}}}", "a: &a [*a]", "<<: {worker: {}}", "worker: !!binary aGk=",
		`{"worker": {"queues": ["*"]}}`, "[worker]\nbatch_size = 1\n", "[[queues]]\n", "defaults: {retry: {retry_backoff: 1e300}}",
		"tenants: {t: {actors: {a: {settings: {k: [1, {x: 0x10}]}}}}}", "? [a]\n: b", "defaults: {retry: 3, classification: {}}",
		"defaults: {retry: {retryable_errors: [a]}, classification: }",
	} {
		f.Add([]byte(seed), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8) {
		name := []string{"t.yaml", "t.json", "t.toml"}[format%3]
		l, problems := parseLayer(name, data)
		if problems != nil {
			require.NotEmpty(t, problems.Error())
			return
		}
		c, err := assemble([]*layer{l}, nil)
		if err != nil {
			require.IsType(t, Errors{}, err, "a fault of ours, not the file's: %v", err)
			return
		}
		c.Effective()
		r := c.Resolve(Lookup{Tenant: "t", Queue: "q", Actor: "a"})
		require.GreaterOrEqual(t, r.Retry.Cap, r.Retry.Base)
		require.NoError(t, r.Retry.Validate("retry"))
	})
}
