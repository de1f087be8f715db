package host

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/abi"
)

// reactorArgs are what a reactor sees: nothing of the attempt, because its
// arguments are part of the image that all attempts start from.
var reactorArgs = []string{"actor"}

func (x *execution) args() []string {
	if !x.command() {
		return reactorArgs
	}
	return []string{cString(x.attempt.Meta.Actor)}
}

// environ is a command's view of its attempt; a reactor has none.
func (x *execution) environ() []string {
	if !x.command() {
		return nil
	}
	m := &x.attempt.Meta
	var env []string
	for _, v := range []struct{ name, value string }{
		{abi.EnvJobID, m.JobID},
		{abi.EnvAttempt, strconv.Itoa(m.Attempt)},
		{abi.EnvMaxAttempts, strconv.Itoa(m.MaxAttempts)},
		{abi.EnvTenant, m.Tenant},
		{abi.EnvQueue, m.Queue},
		{abi.EnvActor, m.Actor},
	} {
		env = append(env, v.name+"="+cString(v.value))
	}
	if m.DeadlineMS != 0 {
		env = append(env, abi.EnvDeadlineMS+"="+strconv.FormatInt(m.DeadlineMS, 10))
	}
	if parent := m.Headers["traceparent"]; parent != "" {
		env = append(env, abi.EnvTraceparent+"="+cString(parent))
	}
	return env
}

// writeStdout keeps what was printed; a command's is its result. Past the
// limit the attempt ends at once, unless the result may still be pushed by
// output_write.
func (x *execution) writeStdout(p []byte) {
	x.stdout.write(p)
	if !x.command() || x.overflowed {
		return
	}
	if len(p) > x.limits.Result-len(x.collected) {
		x.overflowed = true
		if !x.module.pushes {
			x.unwind(unwind{kind: unwindResultTooLarge})
		}
		return
	}
	x.collected = append(x.collected, p...)
}

// takeControl acts on a control line of a command's stderr; false means that
// it's ordinary text. The last outcome counts, at exit; progress and log act
// at once.
func (x *execution) takeControl(text []byte) bool {
	c, err := abi.ParseControl(text)
	if err != nil {
		return false
	}
	switch {
	case c.Progress != nil:
		return x.takeProgress(c.Progress) == abi.CodeOK
	case c.Log != nil:
		x.logFields(c.Log)
	default:
		x.outcome = c
	}
	return true
}

// commandOutcome turns a command's own end into an outcome: by its last
// outcome line, else by its exit code.
func (x *execution) commandOutcome(exit uint32) Outcome {
	switch c := x.outcome; {
	case c == nil:
	case c.SnoozeMS != nil:
		return Outcome{Kind: Snoozed, Delay: abi.Milliseconds(*c.SnoozeMS)}
	case c.RetryAfterMS != nil:
		return Outcome{
			Kind: RetryAfter, Delay: abi.Milliseconds(*c.RetryAfterMS),
			ConsumeBudget: c.ConsumeBudget == nil || *c.ConsumeBudget,
		}
	default:
		f := *c.Fail
		f.Origin = abi.OriginGuest
		f.ExitCode = exitCode(exit)
		return failed(&f)
	}
	if x.failure != nil {
		f := *x.failure
		f.ExitCode = exitCode(exit)
		if exit == abi.ExitSuccess {
			x.warn("the command recorded a failure and exited with 0: it counts as failed")
		}
		return failed(&f)
	}
	if exit == abi.ExitSuccess {
		return x.commandResult()
	}
	return failed(x.exitFailure(exit))
}

// commandResult is what was pushed, else what was printed.
func (x *execution) commandResult() Outcome {
	if x.pushed {
		return x.succeed(x.output)
	}
	if x.overflowed {
		return failed(x.tooLarge())
	}
	if len(x.collected) == 0 {
		return x.succeed(nil)
	}
	return x.succeed(x.collected)
}

// detectContentType names what a command printed, where nobody declared it.
// Text with a NUL is no text to a database.
func detectContentType(result []byte) string {
	switch {
	case json.Valid(result) && utf8.Valid(result):
		return contentJSON
	case utf8.Valid(result) && !hasNUL(result):
		return "text/plain"
	}
	return "application/octet-stream"
}

func exitCode(code uint32) *int {
	c := int(code)
	return &c
}
