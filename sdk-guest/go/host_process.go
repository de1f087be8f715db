//go:build !wasip1

package taskq

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// process speaks the host's command mode on a process's own stdio, so that a
// native build of an actor can be tried in a shell.
type process struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	exit     func(code int)
}

func current() host {
	return &process{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, exit: os.Exit}
}

func (p *process) input() []byte {
	payload, err := io.ReadAll(p.in)
	if err != nil {
		return nil // what isn't there won't decode
	}
	return payload
}

// meta makes the facts of a command's environment; what is missing is that
// of a first attempt.
func (p *process) meta() []byte {
	number := func(name string, otherwise int64) int64 {
		n, err := strconv.ParseInt(p.env(name), 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	return fmt.Appendf(nil,
		`{"job_id":%q,"tenant":%q,"queue":%q,"actor":%q,"kind":"run","attempt":%d,"max_attempts":%d,"now_ms":%d,"deadline_ms":%d}`,
		p.env("TASKQ_JOB_ID"), p.env("TASKQ_TENANT"), p.env("TASKQ_QUEUE"), p.env("TASKQ_ACTOR"),
		number("TASKQ_ATTEMPT", 1), number("TASKQ_MAX_ATTEMPTS", 1), time.Now().UnixMilli(), number("TASKQ_DEADLINE_MS", 0))
}

func (p *process) push(result []byte) { _, _ = p.out.Write(result) }

func (p *process) control(format string, args ...any) {
	_, _ = fmt.Fprintf(p.err, "@taskq "+format+"\n", args...)
}

func (p *process) fail(record []byte)   { p.control(`{"fail":%s}`, record) }
func (p *process) snooze(ms int64)      { p.control(`{"snooze_ms":%d}`, ms) }
func (p *process) heartbeat() uint32    { return 0 }
func (p *process) panicked(text string) {}

func (p *process) retryAfter(ms int64, consume bool) {
	p.control(`{"retry_after_ms":%d,"consume_budget":%t}`, ms, consume)
}

func (p *process) log(level int32, text []byte) {
	_, _ = fmt.Fprintf(p.err, "%s %s\n", levelNames[level], text)
}

func (p *process) progress(record []byte) int32 {
	p.control(`{"progress":%s}`, record)
	return 0
}

func (p *process) died(text string, goroutine []byte) {
	_, _ = fmt.Fprintf(p.err, "panic: %s\n\n%s", text, goroutine)
	p.exit(2)
}
