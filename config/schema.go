package config

import (
	"net"
	"strconv"
	"strings"
	"time"
)

// schema is the whole configuration, every key that there is.
var schema = section("", "",
	leaf("config_version", &intType, "1", "Version of this format.", between(1, 1)),
	databaseSection(), serverSection(), workerSection(), hostSection(), leaseSection(), stopSection(),
	block("defaults", "Every queue of every tenant starts from here."),
	named("queues", "queue", "Per queue, for every tenant; what is missing comes from `defaults`.",
		block("", "One queue.")),
	named("tenants", "tenant", "Per tenant.", tenantSection()),
)

func databaseSection() *node {
	return section("database", "The Postgres that holds everything.",
		leaf("url", &textType, "", "Connection URL or keyword string. Without one, the embedded Postgres is started.",
			matching("a postgres:// URL or a keyword string such as host=… dbname=…", validDSN)).
			isSecret().atStart().defaultsTo("the embedded Postgres").eg("postgres://taskq@db/taskq"),
		leaf("schema", &textType, "taskq", "Schema that holds the tables.", matching("a plain SQL name of lower-case letters, digits and _", validSQLName)).atStart(),
		leaf("max_conns", &intType, "20", "Connections of this process at most.", between(2, 10_000)).atStart(),
		leaf("listen_url", &textType, "", "Direct connection for LISTEN where `url` goes through a pooler.",
			matching("a postgres:// URL or a keyword string such as host=… dbname=…", validDSN)).
			isSecret().atStart().defaultsTo("`database.url`").eg("postgres://taskq@db-direct/taskq"),
		leaf("password_file", &textType, "", "File with the password, read anew for each connection, so that it rotates without a restart.", notEmpty()).atStart().eg("/run/secrets/db"),
	)
}

func serverSection() *node {
	return section("server", "The HTTP API and the pages.",
		leaf("listen", &textType, "127.0.0.1:8420", "Address to listen on; port 0 takes a free one.", matching("host:port", validListen)).atStart(),
		section("tls", "Certificate of the API.",
			leaf("cert", &textType, "", "File with the certificate chain, PEM.", notEmpty()).atStart().eg("/etc/taskq/tls.pem"),
			leaf("key", &textType, "", "File with the private key, PEM.", notEmpty()).atStart().eg("/etc/taskq/tls.key"),
		),
	)
}

func workerSection() *node {
	return section("worker", "This process as a worker.",
		leaf("concurrency", &intType, "64", "Attempts that run at the same time.", between(1, 100_000)).atStart(),
		leaf("queues", &listType, "*", "Queues to serve; `*` and `?` match.", notNothing(), eachItem("made of names, * and ?", validGlob)).atStart().eg("payments.*"),
		leaf("tenants", &listType, "*", "Tenants to serve; `*` and `?` match.", notNothing(), eachItem("made of names, * and ?", validGlob)).atStart().eg("acme"),
		leaf("poll_interval", &durationType, "500ms", "Longest wait before an idle worker looks for jobs.", lasting(time.Millisecond, time.Hour)),
		leaf("batch_size", &intType, "100", "Jobs claimed by one statement at most.", between(1, 10_000)),
		leaf("prefetch", &durationType, "200ms", "How much work, in time, is claimed ahead of need; 0s claims only what can start.", lasting(0, 10*time.Minute)),
	)
}

func hostSection() *node {
	return section("host", "Limits that hold for every tenant.",
		leaf("default_start_to_close", &durationType, "5m", "Time limit of one attempt where nothing nearer to the job says one.", lasting(10*time.Millisecond, 365*Day)).orNone(),
		leaf("max_retry_backoff", &durationType, "24h", "No computed or classified delay is longer; at least `host.min_deferral`.", lasting(time.Millisecond, 365*Day)),
		leaf("min_deferral", &durationType, "1s", "Shortest delay of a snooze, a retry_after and a classifier's answer.", lasting(time.Millisecond, Day)),
		leaf("max_deferral", &durationType, "30d", "Longest delay of a snooze and a retry_after; at least `host.min_deferral`.", lasting(time.Millisecond, 3650*Day)),
		leaf("max_indefinite_age", &durationType, none, "Deadline, from creation, of jobs that are retried indefinitely.", lasting(time.Second, 3650*Day)).orNone().eg("90d"),
		leaf("memory", &sizeType, "64MiB", "Linear memory of one attempt.", sized(64<<10, 4<<30)).atStart(),
		leaf("fuel", &intType, none, "Fuel of one attempt.", between(1, 1<<53)).orNone().eg("50000000"),
	)
}

func leaseSection() *node {
	return section("lease", "How long a silent worker keeps its jobs.",
		leaf("heartbeat_interval", &durationType, "10s", "Time between two heartbeats.", lasting(10*time.Millisecond, time.Hour)).atStart(),
		leaf("heartbeat_command_timeout", &durationType, "2s", "Time limit of one heartbeat's statement.", lasting(10*time.Millisecond, time.Hour)).atStart(),
		leaf("max_heartbeat_failures", &intType, "3", "Failed heartbeats in a row that a lease outlives.", between(0, 1000)).atStart(),
		leaf("lock_lease", &durationType, "60s", "Length of a lease; long enough for that many failures, see the rules between keys.", lasting(time.Second, 365*Day)).atStart(),
	)
}

func stopSection() *node {
	return section("stop", "Phases of a graceful stop, and of a cancel.",
		leaf("drain", &durationType, "30s", "Running attempts may finish.", lasting(0, Day)),
		leaf("cancellation_grace", &durationType, "30s", "They have been asked to stop, and may.", lasting(0, Day)),
		leaf("cleanup_grace", &durationType, "10s", "Stopped by force; what is left after it is given up.", lasting(0, Day)),
	)
}

func notEmpty() rule {
	return matching("not empty", func(s string) bool { return strings.TrimSpace(s) != "" })
}

func notNothing() rule {
	return rule{"a list that names something", func(v any) bool { return len(v.([]string)) > 0 }}
}

// validDSN only tells the forms apart: what a URL means is the driver's to say,
// and its complaint would repeat the password.
func validDSN(s string) bool {
	if scheme, _, isURL := strings.Cut(s, "://"); isURL && !strings.ContainsAny(scheme, " =") {
		return scheme == "postgres" || scheme == "postgresql"
	}
	return strings.Contains(s, "=")
}

func validSQLName(s string) bool {
	if s == "" || len(s) > 63 || strings.HasPrefix(s, "pg_") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func validListen(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}

func validGlob(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-*?", rune(c)) {
			return false
		}
	}
	return s != ""
}
