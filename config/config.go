package config

import (
	"time"

	"github.com/taskq-host/taskq-host/retry"
)

// Config is one configuration that was checked as a whole. It is never
// changed after [Load] has made it and may be read from any goroutine. A
// duration, number or size of 0 means none where the schema allows none.
type Config struct {
	ConfigVersion int               `koanf:"config_version"`
	Database      Database          `koanf:"database"`
	Server        Server            `koanf:"server"`
	Worker        Worker            `koanf:"worker"`
	Host          Host              `koanf:"host"`
	Lease         Lease             `koanf:"lease"`
	Stop          Stop              `koanf:"stop"`
	Defaults      Block             `koanf:"defaults"`
	Queues        map[string]Block  `koanf:"queues"`
	Tenants       map[string]Tenant `koanf:"tenants"`

	// Warnings are what was accepted but deserves a look: keys that this
	// release doesn't use yet, values that have no effect.
	Warnings []string `koanf:"-"`

	origins map[string]string // joined path of each leaf → layer
	leaves  map[string]any    // joined path of each leaf → typed value
	layers  layers            // the policy layers, ready for Resolve
}

// Database is the Postgres that holds everything.
type Database struct {
	URL          string `koanf:"url"` // empty: the embedded one; may hold a password
	Schema       string `koanf:"schema"`
	MaxConns     int    `koanf:"max_conns"`
	ListenURL    string `koanf:"listen_url"`    // empty: URL; may hold a password
	PasswordFile string `koanf:"password_file"` // read anew for each connection
}

// Server is the HTTP API.
type Server struct {
	Listen string `koanf:"listen"` // host:port
	TLS    TLS    `koanf:"tls"`
}

// TLS names PEM files.
type TLS struct {
	Cert string `koanf:"cert"`
	Key  string `koanf:"key"`
}

// Worker is this process as a worker.
type Worker struct {
	Concurrency  int           `koanf:"concurrency"`
	Queues       []string      `koanf:"queues"`  // globs
	Tenants      []string      `koanf:"tenants"` // globs
	PollInterval time.Duration `koanf:"poll_interval"`
	BatchSize    int           `koanf:"batch_size"`
	Prefetch     time.Duration `koanf:"prefetch"`
}

// Host is what holds for every tenant.
type Host struct {
	DefaultStartToClose time.Duration `koanf:"default_start_to_close"` // 0: none
	MaxRetryBackoff     time.Duration `koanf:"max_retry_backoff"`
	MinDeferral         time.Duration `koanf:"min_deferral"`
	MaxDeferral         time.Duration `koanf:"max_deferral"`
	MaxIndefiniteAge    time.Duration `koanf:"max_indefinite_age"` // 0: none
	Memory              Size          `koanf:"memory"`             // bytes of linear memory
	Fuel                int           `koanf:"fuel"`               // 0: none
}

// RetrySettings are the bounds that every policy and signal is held to.
func (h Host) RetrySettings() retry.Settings {
	return retry.Settings{
		MaxRetryBackoff: h.MaxRetryBackoff, MinDeferral: h.MinDeferral,
		MaxDeferral: h.MaxDeferral, MaxIndefiniteAge: h.MaxIndefiniteAge,
	}
}

// Lease is how long a silent worker keeps its jobs.
type Lease struct {
	HeartbeatInterval       time.Duration `koanf:"heartbeat_interval"`
	HeartbeatCommandTimeout time.Duration `koanf:"heartbeat_command_timeout"`
	MaxHeartbeatFailures    int           `koanf:"max_heartbeat_failures"`
	LockLease               time.Duration `koanf:"lock_lease"`
}

// Stop is the phases of a graceful stop.
type Stop struct {
	Drain             time.Duration `koanf:"drain"`
	CancellationGrace time.Duration `koanf:"cancellation_grace"`
	CleanupGrace      time.Duration `koanf:"cleanup_grace"`
}

// Block is what defaults, a queue, a tenant's defaults or a tenant's queue
// say. A nil field inherits; [Config.Resolve] lays the blocks over each other.
type Block struct {
	Retry          RetryPatch     `koanf:"retry"`
	Classification Classification `koanf:"classification"`
	Classifiers    []Classifier   `koanf:"classifiers"`
	Execution      Execution      `koanf:"execution"`
	Worker         QueueWorker    `koanf:"worker"`
	Handler        Handler        `koanf:"handler"`
	Limits         Limits         `koanf:"limits"`
}

// RetryPatch is a retry block: what one layer says of a policy. A nil field
// inherits; a TimeBudget of 0 is none, which replaces an inherited one.
type RetryPatch struct {
	Kind        *retry.Kind    `koanf:"kind"`
	MaxAttempts *int           `koanf:"max_attempts"`
	TimeBudget  *time.Duration `koanf:"time_budget"`
	Backoff     *retry.Backoff `koanf:"backoff"`
	Base        *time.Duration `koanf:"base"`
	Multiplier  *float64       `koanf:"multiplier"`
	Cap         *time.Duration `koanf:"cap"`
	Jitter      *float64       `koanf:"jitter"`
}

// Classification is lists of globs over failure classes; nil inherits, an
// empty list replaces.
type Classification struct {
	Permanent []string `koanf:"permanent"`
	Retryable []string `koanf:"retryable"`
}

// Execution is how an attempt is run.
type Execution struct {
	StartToClose     *time.Duration `koanf:"start_to_close"` // 0: none
	Lease            *time.Duration `koanf:"lease"`
	HeartbeatTimeout *time.Duration `koanf:"heartbeat_timeout"` // 0: none
	InlineRetries    InlineRetries  `koanf:"inline_retries"`
}

// InlineRetries are repetitions inside one attempt.
type InlineRetries struct {
	Attempts *int           `koanf:"attempts"`
	Backoff  *time.Duration `koanf:"backoff"`
}

// QueueWorker is how each worker process serves a queue.
type QueueWorker struct {
	Concurrency  *int           `koanf:"concurrency"` // 0: none
	BatchSize    *int           `koanf:"batch_size"`
	PollInterval *time.Duration `koanf:"poll_interval"`
	RateLimit    *Rate          `koanf:"rate_limit"` // zero: none
}

// Handler says which version of an actor runs.
type Handler struct {
	VersionMismatch *string `koanf:"version_mismatch"`
}

// Limits hold for the whole fleet.
type Limits struct {
	TTLSucceeded *time.Duration `koanf:"ttl_succeeded"` // 0: kept for ever
	DLQRetention *time.Duration `koanf:"dlq_retention"` // 0: kept for ever
	MaxPayload   *Size          `koanf:"max_payload"`
	Rate         *Rate          `koanf:"rate"`        // zero: none
	Concurrency  *int           `koanf:"concurrency"` // 0: none
}

// Tenant is what is said of one tenant.
type Tenant struct {
	Weight   int              `koanf:"weight"` // 0: not said, 1
	Ceilings Ceilings         `koanf:"ceilings"`
	Defaults Block            `koanf:"defaults"`
	Queues   map[string]Block `koanf:"queues"`
	Actors   map[string]Actor `koanf:"actors"`
}

// Ceilings are what nothing of the tenant may exceed; 0 is no ceiling.
type Ceilings struct {
	MaxAttempts  int           `koanf:"max_attempts"`
	Memory       Size          `koanf:"memory"`
	StartToClose time.Duration `koanf:"start_to_close"`
	Concurrency  int           `koanf:"concurrency"`
}

// Actor is what is said of one actor of a tenant.
type Actor struct {
	Queue              string         `koanf:"queue"` // where its jobs go unless told; empty: not said
	Retry              RetryPatch     `koanf:"retry"`
	RetryOn            []string       `koanf:"retry_on"`
	NonRetryableErrors []string       `koanf:"non_retryable_errors"`
	Mapper             string         `koanf:"mapper"`
	Classifiers        []Classifier   `koanf:"classifiers"`
	Hooks              Hooks          `koanf:"hooks"`
	Execution          Execution      `koanf:"execution"`
	Handler            Handler        `koanf:"handler"`
	Settings           map[string]any `koanf:"settings"`
	Grants             Grants         `koanf:"grants"`
}

// Hooks name what runs after a job's end: self, or an actor.
type Hooks struct {
	Success        string        `koanf:"success"`
	Cancel         string        `koanf:"cancel"`
	RetryExhausted string        `koanf:"retry_exhausted"`
	Timeout        time.Duration `koanf:"timeout"` // 0: not said, 3s
}

// Grants are an actor's capabilities.
type Grants struct {
	HTTP    []string `koanf:"http"` // origins
	KV      bool     `koanf:"kv"`
	Enqueue bool     `koanf:"enqueue"`
	Secret  []string `koanf:"secret"` // names
}
