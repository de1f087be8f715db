package config

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/abi"
)

// block is what defaults, a queue, a tenant's defaults and a tenant's queue
// say about the jobs below them.
func block(key, doc string) *node {
	return section(key, doc,
		retrySection(),
		section("classification", "Failures that are decided by their class; `*` and `?` match.",
			leaf("permanent", &listType, "", "Never retried.").eg("*.ValidationException"),
			leaf("retryable", &listType, "", "Retried as the policy's kind says.").eg("TIMEOUT,java.net.*"),
		),
		leaf("classifiers", &classifiersType, "", "Asked in order; the first that has an opinion wins. A name is the tenant's own, `shared/name` the platform's, `builtin:name` ships with the host.").eg("partner-errors,builtin:failure_taxonomy"),
		executionSection(),
		section("worker", "How each worker process serves the queue.",
			leaf("concurrency", &intType, none, "Attempts at the same time.", between(1, 100_000)).orNone().eg("32"),
			leaf("batch_size", &intType, "", "Jobs claimed by one statement.", between(1, 10_000)).defaultsTo("`worker.batch_size`").eg("100"),
			leaf("poll_interval", &durationType, "", "Longest wait before an idle worker looks again.", lasting(time.Millisecond, time.Hour)).defaultsTo("`worker.poll_interval`").eg("500ms"),
			leaf("rate_limit", &rateType, none, "Starts, such as 100/s.").orNone().eg("100/s"),
		),
		handlerSection(),
		section("limits", "Of the whole fleet.",
			leaf("ttl_succeeded", &durationType, "24h", "How long a succeeded job is kept.", lasting(time.Second, 36500*Day)).orNone(),
			leaf("dlq_retention", &durationType, "30d", "How long a dead letter is kept.", lasting(time.Second, 36500*Day)).orNone(),
			leaf("max_payload", &sizeType, "1MiB", "Longest payload.", sized(1, 64<<20)),
			leaf("rate", &rateType, none, "Starts, such as 100/s.").orNone().eg("100/s"),
			leaf("concurrency", &intType, none, "Attempts at the same time.", between(1, 1_000_000)).orNone().eg("32"),
		).also(other{name: "task_ttl", key: "ttl_succeeded"}),
	).also(
		other{name: "retryable_errors", section: "retry", key: "classification" + sep + "retryable"},
		other{name: "non_retryable_errors", section: "retry", key: "classification" + sep + "permanent"},
	)
}

func retrySection() *node {
	return section("retry", "When a failed attempt is repeated.",
		leaf("kind", &textType, "transient", "`transient` has a budget of attempts, `indefinite` none, `non_retryable` a single attempt.", oneOf("transient", "indefinite", "non_retryable")),
		leaf("max_attempts", &intType, "3", "Executions, the first included; inert for `indefinite`.", between(1, abi.MaxMaxAttempts)),
		leaf("time_budget", &durationType, none, "Deadline of an `indefinite` job, counted from its insert.", positive()).orNone().eg("2d"),
		leaf("backoff", &textType, "exponential", "The curve.", oneOf("exponential", "linear", "fixed")),
		leaf("base", &durationType, "5s", "Delay after the first failure.", positive()),
		leaf("multiplier", &floatType, "2.0", "Growth of the exponential curve; exactly 1 is `fixed`.", atLeastOne()),
		leaf("cap", &durationType, "1h", "Longest delay; at least `base`.", positive()),
		leaf("jitter", &floatType, "0.2", "Share of the delay that is random, up and down.", fraction()),
	).also(
		other{name: "initial_backoff", key: "base", convert: bareSeconds, doc: "also a bare number of seconds"},
		other{name: "retry_backoff", key: "base", convert: bareSeconds, doc: "also a bare number of seconds"},
		other{name: "backoff_multiplier", key: "multiplier"},
		other{name: "max_backoff", key: "cap"},
		other{name: "max_retry_delay", key: "cap"},
		other{name: "max_retries", key: "max_attempts", convert: oneMore, doc: "counts the later attempts only, so one less"},
	)
}

func executionSection() *node {
	return section("execution", "How an attempt is run.",
		leaf("start_to_close", &durationType, "", "Time limit of one attempt.", lasting(10*time.Millisecond, 365*Day)).orNone().defaultsTo("`host.default_start_to_close`").eg("2m"),
		leaf("lease", &durationType, "", "Lease of the queue's jobs; the rule of `lease.lock_lease` holds for it too.", lasting(time.Second, 365*Day)).defaultsTo("`lease.lock_lease`").eg("60s"),
		leaf("heartbeat_timeout", &durationType, none, "Silence of the worker after which the job is handed back; at least `heartbeat_interval + 2 × heartbeat_command_timeout`.", positive()).orNone().eg("30s"),
		section("inline_retries", "Repetitions inside one attempt.",
			leaf("attempts", &intType, "0", "How many.", between(0, 100)),
			leaf("backoff", &durationType, "100ms", "Delay before each.", lasting(0, time.Minute)),
		),
	).also(
		other{name: "handler_timeout", key: "start_to_close"},
		other{name: "timeout", key: "start_to_close"},
		other{name: "sync_retry", key: "inline_retries"},
	)
}

func handlerSection() *node {
	return section("handler", "Which version of the actor runs.",
		leaf("version_mismatch", &textType, "run-latest", "For a job that was made for another version.", oneOf("run-latest", "run-pinned", "dead-letter")),
	)
}

func tenantSection() *node {
	return section("", "One tenant.",
		leaf("weight", &intType, "", "Share of the workers beside the other tenants.", between(1, 1000)).defaultsTo("1").eg("2"),
		section("ceilings", "What nothing below may exceed; a larger wish is cut down to it, and the answer says so.",
			leaf("max_attempts", &intType, "", "Of a policy's `retry.max_attempts`.", between(1, abi.MaxMaxAttempts)).orNone().eg("50"),
			leaf("memory", &sizeType, "", "Of an attempt's linear memory.", sized(64<<10, 4<<30)).orNone().eg("128MiB"),
			leaf("start_to_close", &durationType, "", "Of an attempt's time limit; a `none` becomes it.", lasting(10*time.Millisecond, 365*Day)).orNone().eg("2m"),
			leaf("concurrency", &intType, "", "Of attempts at the same time.", between(1, 1_000_000)).orNone().eg("32"),
		),
		block("defaults", "Every queue of this tenant starts from here, over the host's."),
		named("queues", "queue", "Per queue of this tenant.", block("", "One queue.")),
		named("actors", "actor", "Per actor of this tenant.", actorSection()),
	)
}

func actorSection() *node {
	return section("", "One actor.",
		leaf("queue", &textType, "", "Where its jobs go when the enqueue doesn't say.", matching("a name", abi.ValidName)).eg("payments.charge"),
		retrySection(),
		leaf("retry_on", &listType, "", "The only failures that are retried; `*` and `?` match.").eg("HTTPError,TimeoutError"),
		leaf("non_retryable_errors", &listType, "", "Failures that are never retried.").eg("*.ValidationException"),
		leaf("mapper", &textType, "", "Classifier whose answer is final.", matching("a classifier's name", validReference)).eg("partner-errors"),
		leaf("classifiers", &classifiersType, "", "As a queue's.").eg("partner-errors,builtin:failure_taxonomy"),
		section("hooks", "What runs after a job's end: `self` or an actor's name.",
			leaf("success", &textType, "", "After it succeeded.", matching("self or a name", abi.ValidName)).orNone().eg("self"),
			leaf("cancel", &textType, "", "After it was cancelled.", matching("self or a name", abi.ValidName)).orNone().eg("self"),
			leaf("retry_exhausted", &textType, "", "After it failed for good.", matching("self or a name", abi.ValidName)).orNone().eg("alert"),
			leaf("timeout", &durationType, "", "Time limit of each.", lasting(10*time.Millisecond, 10*time.Minute)).defaultsTo("3s").eg("3s"),
		),
		executionSection(),
		handlerSection(),
		leaf("settings", &objectType, "", "Free form; the guest reads it.").eg("{region: eu}"),
		section("grants", "Capabilities beyond computing; both host and tenant must grant one.",
			leaf("http", &listType, "", "Origins that may be called.", eachItem("origins such as https://api.example.com", validOrigin)).eg("https://api.example.com"),
			leaf("kv", &boolType, "", "Key-value storage.").eg("true"),
			leaf("enqueue", &boolType, "", "Jobs of its own.").eg("true"),
			leaf("secret", &listType, "", "Names of secrets.", eachItem("names of upper-case letters, digits and _", validSecretName)).eg("API_KEY"),
		),
	).also(other{name: "dont_retry_on", key: "non_retryable_errors"})
}

// bareSeconds reads a plain number as seconds; two of the seeds' formats
// wrote these keys so.
func bareSeconds(v any, text bool) (any, string) {
	if s, isText := v.(string); isText {
		if _, err := strconv.ParseFloat(s, 64); !text || err != nil {
			return v, ""
		}
	}
	f, broken := readFloat(v, text)
	if broken != "" {
		return v, "" // for the duration's own complaint
	}
	seconds := f.(float64)
	if seconds <= 0 || seconds > math.MaxInt64/float64(time.Second)/2 {
		return nil, "must be > 0 seconds, and fewer than a century has"
	}
	return time.Duration(math.Round(seconds * float64(time.Second))).String(), ""
}

// oneMore turns a count of repetitions into one of executions.
func oneMore(v any, text bool) (any, string) {
	n, broken := readInt(v, text)
	if broken != "" {
		return nil, broken
	}
	if n.(int) < 0 || n.(int) >= abi.MaxMaxAttempts {
		return nil, "must be 0.." + strconv.Itoa(abi.MaxMaxAttempts-1)
	}
	return n.(int) + 1, ""
}

func validReference(s string) bool {
	for _, prefix := range []string{"shared/", "builtin:"} {
		s = strings.TrimPrefix(s, prefix)
	}
	return abi.ValidName(s)
}

func validOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		strings.TrimSuffix(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

func validSecretName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
