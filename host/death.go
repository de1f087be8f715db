package host

import (
	"fmt"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// settle names the end of an execution: by the flag that the host set itself,
// then by what the host unwound for, then by the engine's error, and last by
// what the guest printed. A guest can mislabel nothing but itself.
func (x *execution) settle(how int32, returned int32, err error) Outcome {
	switch how {
	case stopped:
		return Outcome{Kind: Stopped, Cause: x.cause}
	case timedOut:
		return failed(x.markInit(x.timeout()))
	}
	if err == nil {
		return x.returned(returned)
	}
	if p, ok := asPrelude(err); ok {
		return failed(x.markInit(failure(abi.ClassGuestError, abi.OriginGuest, p.Error())))
	}
	if u := x.unwoundBy(err); u != nil {
		return x.unwoundOutcome(u, err)
	}
	if t, ok := trapOf(err); ok {
		return failed(x.markInit(x.trapFailure(t)))
	}
	if t, ok := segmentTrap(err); ok && x.instance == nil {
		return failed(x.markInit(x.trapFailure(t)))
	}
	return x.hostFault(err.Error())
}

func (x *execution) timeout() *abi.Failure {
	f := failure(abi.ClassTimeout, abi.OriginLimit, "start_to_close")
	f.TimedOut = true
	return f
}

// markInit flags a death before the entry was called.
func (x *execution) markInit(f *abi.Failure) *abi.Failure {
	if !x.entered {
		f.PreActor = true
		f.AddAncestor(abi.ClassModuleInit)
	}
	return f
}

// returned is the outcome of an entry that returned.
func (x *execution) returned(value int32) Outcome {
	if x.command() {
		return x.commandOutcome(abi.ExitSuccess)
	}
	if x.failure != nil {
		if value == 0 {
			x.warn("the entry recorded a failure and returned 0: it counts as failed")
		}
		return failed(x.failure)
	}
	kind := x.attempt.Kind
	var out Outcome
	switch {
	case value == 0 && kind == abi.KindClassify: // no opinion, whatever was pushed
		out = x.succeed(nil)
	case value == 1 && kind == abi.KindClassify && !x.pushed:
		out = failed(failure(abi.ClassGuestError, abi.OriginGuest, "the classifier returned 1 and pushed no answer"))
	case value == 2 && kind == abi.KindCron: // skip this tick
		out = x.succeed(nil)
	case value == 0 || value == 1 && kind == abi.KindClassify:
		var result []byte
		if x.pushed {
			result = append([]byte{}, x.output...)
		}
		out = x.succeed(result)
	default:
		f := failure(abi.ClassGuestError, abi.OriginGuest, fmt.Sprintf("entry returned %d", value))
		code := int(value)
		f.ExitCode = &code
		out = failed(f)
	}
	out.Returned = value
	return out
}

func (x *execution) unwoundOutcome(u *unwind, err error) Outcome {
	switch u.kind {
	case unwindSnooze:
		return Outcome{Kind: Snoozed, Delay: u.delay}
	case unwindRetryAfter:
		return Outcome{Kind: RetryAfter, Delay: u.delay, ConsumeBudget: u.consume}
	case unwindExit:
		return x.exited(u.code)
	case unwindPanic:
		f := failure(abi.ClassGuestPanic, abi.OriginTrap, u.text)
		f.Stack = traceText(err.Error())
		if u.code != 0 {
			f.ExitCode = exitCode(u.code)
		}
		return failed(x.markInit(x.reported(x.starved(f))))
	case unwindViolation:
		f := failure(abi.ClassAbiViolation, abi.OriginGuest, u.text)
		f.Stack = traceText(err.Error())
		return failed(x.markInit(f))
	case unwindResultTooLarge:
		return failed(x.markInit(x.tooLarge()))
	case unwindFuel:
		return failed(x.markInit(failure(abi.ClassGuestOutOfFuel, abi.OriginLimit,
			fmt.Sprintf("more than %d units of fuel", x.limits.Fuel))))
	case unwindStack:
		t := trap{class: abi.ClassGuestStackOverflow, text: stackOverflow}
		t.readTrace(err.Error())
		return failed(x.markInit(x.trapFailure(t)))
	case unwindHostCalls:
		return failed(x.markInit(failure(abi.ClassLimitExceeded, abi.OriginLimit,
			fmt.Sprintf("more than %d host calls", x.limits.HostCalls))))
	}
	return x.hostFault("the guest was unwound for its end, and it had not ended")
}

// exited is the outcome of proc_exit. In a reactor even 0 is a death: its
// instance was to go on.
func (x *execution) exited(exit uint32) Outcome {
	if x.command() && x.entered {
		return x.commandOutcome(exit)
	}
	if x.failure != nil {
		f := *x.failure
		f.ExitCode = exitCode(exit)
		return failed(x.markInit(&f))
	}
	return failed(x.markInit(x.exitFailure(exit)))
}

// exitFailure names an exit by its code and by the last words before it.
func (x *execution) exitFailure(exit uint32) *abi.Failure {
	stderr := x.stderr.end.text()
	message := fmt.Sprintf("exit code %d", exit)
	if last := lastLineOf(stderr); last != "" {
		message += ": " + last
	}
	f := failure(abi.ClassGuestExit, abi.OriginExit, message)
	f.ExitCode = exitCode(exit)
	if x.command() {
		switch exit {
		case abi.ExitTempFail:
			f.Retryable = true
			return f
		case abi.ExitUsage, abi.ExitDataErr:
			f.Class, f.Ancestors, f.Permanent = abi.ClassPayloadRejected, abi.Ancestors(abi.ClassPayloadRejected), true
			return f
		case abi.ExitNoPerm:
			f.Permanent = true
			return f
		}
	}
	if words, ok := hear(beforeExit[exit], stderr, x.stdout.end.text()); ok {
		speak(f, words)
	}
	if exit != abi.ExitSuccess {
		x.starved(f)
	}
	return f
}

// trapFailure names a trap. An unreachable instruction is how most runtimes
// die of a panic, so their text counts there.
func (x *execution) trapFailure(t trap) *abi.Failure {
	message := t.text
	if where := t.where(); where != "" {
		message += " in " + where
	}
	if t.class == abi.ClassTrapOutOfBounds && t.recursive() {
		t.class = abi.ClassGuestStackOverflow
		message = "the stack in memory is exhausted: " + message
	}
	f := failure(t.class, abi.OriginTrap, message)
	f.Trap, f.Stack = t.text, t.trace
	switch t.text {
	case unreachableTrap:
		if words, ok := hear(beforeTrap, x.stderr.end.text(), x.stdout.end.text()); ok {
			speak(f, words)
		}
		return x.reported(x.starved(f))
	case memoryTrap:
		x.starved(f)
	}
	f.Cause = x.failure
	return f
}

// speak gives a failure the guest's own last words.
func speak(f *abi.Failure, words lastWords) {
	class := abi.ClassGuestPanic
	if words.deadlock {
		class = abi.ClassGuestDeadlock
	}
	spoken := failure(class, f.Origin, words.message)
	f.Class, f.Ancestors, f.Message, f.Truncated = spoken.Class, spoken.Ancestors, spoken.Message, spoken.Truncated
	if words.stack != "" {
		var cut bool
		if f.Stack, cut = abi.Text(words.stack, abi.MaxStack); cut {
			f.Truncated = append(f.Truncated, "stack")
		}
	}
}

// starved turns a death into one of memory when the last growth was denied.
func (x *execution) starved(f *abi.Failure) *abi.Failure {
	if x.memory.denied {
		f.Class, f.Ancestors, f.Origin = abi.ClassGuestOutOfMemory, abi.Ancestors(abi.ClassGuestOutOfMemory), abi.OriginLimit
		if !strings.Contains(f.Message, "memory") {
			f.Message = fmt.Sprintf("memory denied past %d bytes: %s", x.memory.limit, f.Message)
			f.Message, _ = abi.Cut(f.Message, abi.MaxMessage)
		}
	}
	return f
}

// reported merges a death by panic with the failure that the guest's SDK
// recorded on its way down: the SDK knows the type, the host how it ended.
func (x *execution) reported(death *abi.Failure) *abi.Failure {
	if x.failure == nil {
		return death
	}
	if death.Class == abi.ClassGuestOutOfMemory {
		death.Cause = x.failure
		return death
	}
	f := *x.failure
	f.Origin, f.Trap, f.ExitCode = death.Origin, death.Trap, death.ExitCode
	if f.Stack == "" {
		f.Stack = death.Stack
	}
	f.AddAncestor(abi.ClassGuestPanic)
	f.AddAncestor(abi.ClassGuestDeath)
	return &f
}

// hostFault is the host's own bug: its text goes to the operator's log and
// nowhere else.
func (x *execution) hostFault(text string) Outcome {
	m := &x.attempt.Meta
	x.module.engine.log.Error("an attempt failed inside the host", "tenant", m.Tenant, "job", m.JobID, "actor", m.Actor,
		"attempt", m.Attempt, "epoch", m.ClaimEpoch, "module", x.module.report.Digest, "error", text)
	return failed(failure(abi.ClassHostFault, abi.OriginHost, "the host failed; this is not the guest's fault"))
}
