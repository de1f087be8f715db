package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// death is what a guest's end must be called. Language fixtures add rows.
type death struct {
	name    string
	fixture string
	attempt host.Attempt

	class     string
	ancestors []string
	origin    abi.Origin
	message   string // a part of it
	stack     string // likewise
	exit      int
	check     func(t *testing.T, f *abi.Failure)
}

var (
	trapFamily  = []string{abi.ClassGuestTrap, abi.ClassGuestDeath}
	panicFamily = []string{abi.ClassGuestPanic, abi.ClassGuestDeath}
	terminal    = []string{abi.ClassAlwaysTerminal}
	deathOnly   = []string{abi.ClassGuestDeath}
	starved     = []string{abi.ClassLimitExceeded, abi.ClassGuestDeath}
)

const noExit = -1

func input(s string) host.Attempt { return host.Attempt{Input: []byte(s), Timeout: time.Minute} }

func beforeTheBody(t *testing.T, f *abi.Failure) {
	require.True(t, f.PreActor)
	require.Contains(t, f.Ancestors, abi.ClassModuleInit)
}

const (
	goReport = "panic: boom: ada\n\ngoroutine 1 [running]:\nmain.run()\n\t/src/main.go:16 +0x2\n"
	goAsleep = "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\nmain.run()\n"
	rustNew  = "\nthread 'main' (1) panicked at src/main.rs:16:20:\nboom: ada\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
)

var deaths = []death{
	{name: "unreachable", fixture: "traps", attempt: input("u"), class: abi.ClassTrapUnreachable, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "unreachable", stack: "$", exit: noExit},
	{name: "out of bounds", fixture: "traps", attempt: input("o"), class: abi.ClassTrapOutOfBounds, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "out of bounds memory access", exit: noExit},
	{name: "division by zero", fixture: "traps", attempt: input("d"), class: abi.ClassTrapDivideByZero, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "integer divide by zero", exit: noExit},
	{name: "integer overflow", fixture: "traps", attempt: input("v"), class: abi.ClassTrapIntegerOverflow, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "integer overflow", exit: noExit},
	{name: "conversion of NaN", fixture: "traps", attempt: input("c"), class: abi.ClassTrapBadConversion, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "invalid conversion", exit: noExit},
	{name: "call of an empty table entry", fixture: "traps", attempt: input("n"), class: abi.ClassTrapTableAccess, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "table", exit: noExit},
	{name: "call past the table's end", fixture: "traps", attempt: input("e"), class: abi.ClassTrapTableAccess, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "table", exit: noExit},
	{name: "call of another signature", fixture: "traps", attempt: input("s"), class: abi.ClassTrapSignatureMismatch, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "type mismatch", exit: noExit},
	{name: "call stack exhausted", fixture: "traps", attempt: input("r"), class: abi.ClassGuestStackOverflow, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "stack overflow", exit: noExit},
	{name: "stack in memory exhausted", fixture: "shadow-stack", attempt: input(""), class: abi.ClassGuestStackOverflow, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "stack in memory", exit: noExit},

	{name: "panic import", fixture: "panic", attempt: input(""), class: abi.ClassGuestPanic, ancestors: deathOnly,
		origin: abi.OriginTrap, message: "no stdio here", stack: "taskq_v1.panic", exit: noExit},
	{name: "AssemblyScript's abort", fixture: "script-abort", attempt: input(""), class: abi.ClassGuestPanic, ancestors: deathOnly,
		origin: abi.OriginTrap, message: "boom at a.ts:31:24", exit: 255},
	{name: "Go panic in a reactor", fixture: "last-words", attempt: input(goReport), class: abi.ClassGuestPanic, ancestors: deathOnly,
		origin: abi.OriginTrap, message: "boom: ada", stack: "goroutine 1 [running]:\nmain.run()", exit: noExit},
	{name: "Go deadlock in a reactor", fixture: "last-words", attempt: input(goAsleep), class: abi.ClassGuestDeadlock, ancestors: panicFamily,
		origin: abi.OriginTrap, message: "all goroutines are asleep", exit: noExit},
	{name: "Rust panic", fixture: "last-words", attempt: input(rustNew), class: abi.ClassGuestPanic, ancestors: deathOnly,
		origin: abi.OriginTrap, message: "boom: ada", stack: "at src/main.rs:16:20", exit: noExit},
	{name: "a type that the SDK recorded on the way down", fixture: "fail-then-die", attempt: input(""), class: "app.Broken", ancestors: panicFamily,
		origin: abi.OriginTrap, message: "it broke", exit: noExit},

	{name: "memory denied at the host's limit", fixture: "memory-bomb", attempt: input(""), class: abi.ClassGuestOutOfMemory, ancestors: starved,
		origin: abi.OriginLimit, message: "memory denied past 67108864 bytes", exit: noExit},
	{name: "memory denied at the guest's own limit", fixture: "memory-own-limit", attempt: input(""), class: abi.ClassGuestOutOfMemory, ancestors: starved,
		origin: abi.OriginLimit, message: "memory denied past 262144 bytes", exit: noExit},
	{name: "memory that may never grow", fixture: "memory-empty", attempt: input(""), class: abi.ClassGuestOutOfMemory, ancestors: starved,
		origin: abi.OriginLimit, message: "memory denied past 0 bytes", exit: noExit},
	{name: "memory denied, coped with, and another death", fixture: "memory-coped", attempt: input(""), class: abi.ClassTrapUnreachable, ancestors: trapFamily,
		origin: abi.OriginTrap, message: "unreachable", exit: noExit},
	{name: "memory denied to a command that exits", fixture: "memory-exit", attempt: input(""), class: abi.ClassGuestOutOfMemory, ancestors: starved,
		origin: abi.OriginLimit, message: "memory denied past 67108864 bytes: exit code 1", exit: 1},
	{name: "memory denied to a command that asks for a retry", fixture: "memory-exit", attempt: input("x"), class: abi.ClassGuestExit,
		ancestors: deathOnly, origin: abi.OriginExit, exit: 75},
	{name: "memory that begins past the limit", fixture: "memory-begins-big",
		attempt: host.Attempt{Limits: host.Limits{Memory: 1 << 20}}, class: abi.ClassGuestOutOfMemory,
		ancestors: append(append([]string{}, starved...), abi.ClassModuleInit),
		origin:    abi.OriginLimit, message: "begins with 4194304 bytes", exit: noExit, check: beforeTheBody},

	{name: "exit 0 of a reactor", fixture: "exit-reactor", attempt: input("0"), class: abi.ClassGuestExit, ancestors: deathOnly,
		origin: abi.OriginExit, message: "exit code 0", exit: 0},
	{name: "exit 5 of a reactor", fixture: "exit-reactor", attempt: input("5"), class: abi.ClassGuestExit, ancestors: deathOnly,
		origin: abi.OriginExit, message: "exit code 5", exit: 5},
	{name: "exit 3 of a command", fixture: "exit", attempt: input("3"), class: abi.ClassGuestExit, ancestors: deathOnly,
		origin: abi.OriginExit, message: "exit code 3: err", exit: 3, check: func(t *testing.T, f *abi.Failure) {
			require.False(t, f.Permanent || f.Retryable)
		}},
	{name: "exit 75 is retryable", fixture: "exit", attempt: input("75"), class: abi.ClassGuestExit, ancestors: deathOnly,
		origin: abi.OriginExit, exit: 75, check: func(t *testing.T, f *abi.Failure) { require.True(t, f.Retryable) }},
	{name: "exit 64 rejects the payload", fixture: "exit", attempt: input("64"), class: abi.ClassPayloadRejected,
		origin: abi.OriginExit, exit: 64, check: func(t *testing.T, f *abi.Failure) { require.True(t, f.Permanent) }},
	{name: "exit 65 rejects the payload", fixture: "exit", attempt: input("65"), class: abi.ClassPayloadRejected,
		origin: abi.OriginExit, exit: 65, check: func(t *testing.T, f *abi.Failure) { require.True(t, f.Permanent) }},
	{name: "exit 77 is permanent", fixture: "exit", attempt: input("77"), class: abi.ClassGuestExit, ancestors: deathOnly,
		origin: abi.OriginExit, exit: 77, check: func(t *testing.T, f *abi.Failure) { require.True(t, f.Permanent) }},
	{name: "an exit code that reads like the engine's cancellation", fixture: "exit", attempt: input("4294967295"), class: abi.ClassGuestExit,
		ancestors: deathOnly, origin: abi.OriginExit, exit: 0xffffffff},
	{name: "an exit code that reads like the engine's deadline", fixture: "exit", attempt: input("4026531839"), class: abi.ClassGuestExit,
		ancestors: deathOnly, origin: abi.OriginExit, exit: 0xefffffff},

	{name: "a loop past its time", fixture: "loop", attempt: host.Attempt{Timeout: 30 * time.Millisecond}, class: abi.ClassTimeout,
		origin: abi.OriginLimit, message: "start_to_close", exit: noExit, check: func(t *testing.T, f *abi.Failure) {
			require.True(t, f.TimedOut)
			require.False(t, f.PreActor)
		}},
	{name: "a time that had passed before", fixture: "noop", attempt: host.Attempt{Timeout: -1}, class: abi.ClassTimeout,
		ancestors: []string{abi.ClassModuleInit}, origin: abi.OriginLimit, exit: noExit, check: beforeTheBody},
	{name: "recursion without a loop past its time", fixture: "recursion-without-loop", attempt: host.Attempt{Timeout: 30 * time.Millisecond},
		class: abi.ClassTimeout, origin: abi.OriginLimit, exit: noExit},
	{name: "a sleep past its time", fixture: "sleep", attempt: host.Attempt{Timeout: 30 * time.Millisecond}, class: abi.ClassTimeout,
		origin: abi.OriginLimit, exit: noExit},
	{name: "host calls without end past their time", fixture: "call-flood", attempt: host.Attempt{Timeout: 30 * time.Millisecond},
		class: abi.ClassTimeout, origin: abi.OriginLimit, exit: noExit},
	{name: "more host calls than allowed", fixture: "call-flood", attempt: host.Attempt{Limits: host.Limits{HostCalls: 1000}},
		class: abi.ClassLimitExceeded, origin: abi.OriginLimit, message: "1000 host calls", exit: noExit},
	{name: "a result too large", fixture: "result-flood", attempt: input(""), class: abi.ClassResultTooLarge, ancestors: terminal,
		origin: abi.OriginLimit, message: "65536 bytes", exit: noExit},
	{name: "a command's result too large", fixture: "cat", attempt: input("o" + strings.Repeat("x", abi.MaxResult+1)),
		class: abi.ClassResultTooLarge, ancestors: terminal, origin: abi.OriginLimit, exit: noExit},

	{name: "a start section that traps", fixture: "start-trap", attempt: input(""), class: abi.ClassTrapUnreachable,
		ancestors: append(append([]string{}, trapFamily...), abi.ClassModuleInit), origin: abi.OriginTrap, exit: noExit, check: beforeTheBody},
	{name: "a start section that loops", fixture: "start-loop", attempt: host.Attempt{Timeout: 30 * time.Millisecond}, class: abi.ClassTimeout,
		ancestors: []string{abi.ClassModuleInit}, origin: abi.OriginLimit, exit: noExit, check: beforeTheBody},
	{name: "an _initialize that loops", fixture: "init-loop", attempt: host.Attempt{Timeout: 30 * time.Millisecond}, class: abi.ClassTimeout,
		ancestors: []string{abi.ClassModuleInit}, origin: abi.OriginLimit, exit: noExit, check: beforeTheBody},
	{name: "an _initialize that exits", fixture: "init-exit", attempt: input(""), class: abi.ClassGuestExit,
		ancestors: []string{abi.ClassGuestDeath, abi.ClassModuleInit}, origin: abi.OriginExit, exit: 3, check: beforeTheBody},
	{name: "a warm-up that refuses", fixture: "warm-refuses", attempt: input(""), class: abi.ClassGuestError,
		ancestors: []string{abi.ClassModuleInit}, origin: abi.OriginGuest, message: "taskq_v1_warm returned 9", exit: noExit, check: beforeTheBody},
	{name: "a data segment outside of memory", fixture: "data-outside", attempt: input(""), class: abi.ClassTrapOutOfBounds,
		ancestors: append(append([]string{}, trapFamily...), abi.ClassModuleInit), origin: abi.OriginTrap, exit: noExit, check: beforeTheBody},
}

func TestDeaths(t *testing.T) {
	t.Parallel()
	for mode, by := range interruptions {
		e := newEngine(t, host.Options{Interruption: by})
		for _, d := range deaths {
			t.Run(mode+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				checkDeath(t, e, fixture(t, d.fixture), d)
			})
		}
	}
}

func checkDeath(t *testing.T, e *host.Engine, wasm []byte, d death) {
	t.Helper()
	m, err := e.Load(context.Background(), wasm)
	require.NoError(t, err)
	out := m.Run(context.Background(), d.attempt)
	require.Equal(t, host.Failed, out.Kind)
	f := out.Failure
	require.Equal(t, d.class, f.Class, f.Message)
	require.Equal(t, d.ancestors, f.Ancestors)
	require.Equal(t, d.origin, f.Origin)
	require.Contains(t, f.Message, d.message)
	require.Contains(t, f.Stack, d.stack)
	if d.exit == noExit {
		require.Nil(t, f.ExitCode)
	} else {
		require.NotNil(t, f.ExitCode)
		require.Equal(t, d.exit, *f.ExitCode)
	}
	if d.check != nil {
		d.check(t, f)
	}
	require.NotContains(t, f.Stack+f.Message, "recovered by wazero")
}

func TestABadPointerIsTheGuestsFaultForEveryImport(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "bad-pointers")
	for which, name := range []string{"input_read", "meta_read", "output_write", "fail", "log", "progress", "random", "panic",
		"fd_write", "fd_write", "fd_read", "poll_oneoff", "random_get", "args_get", "clock_time_get", "abort"} {
		out := m.Run(context.Background(), input(string(rune('a'+which))))
		require.Equal(t, host.Failed, out.Kind, name)
		require.Equal(t, abi.ClassAbiViolation, out.Failure.Class, name)
		require.Equal(t, terminal, out.Failure.Ancestors, name)
		require.Contains(t, out.Failure.Message, name+": ")
		require.Contains(t, out.Failure.Message, "outside of the memory of 65536 bytes", name)
	}
}

func TestACancelledAttemptIsStoppedForItsCause(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	for _, fixture := range []string{"loop", "sleep", "call-flood", "recursion-without-loop", "start-loop"} {
		for _, cause := range []error{host.ErrCancelled, host.ErrInterrupted, host.ErrLeaseLost} {
			ctx, cancel := context.WithCancelCause(context.Background())
			m := load(t, e, fixture)
			timer := time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
			out := m.Run(ctx, host.Attempt{Timeout: time.Minute})
			timer.Stop()
			require.Equal(t, host.Stopped, out.Kind, fixture)
			require.ErrorIs(t, out.Cause, cause)
			require.Nil(t, out.Failure)
		}
	}
}

func TestAnAttemptWhoseContextEndedBeforeNeverBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := load(t, newEngine(t, host.Options{}), "noop").Run(ctx, host.Attempt{})
	require.Equal(t, host.Stopped, out.Kind)
	require.ErrorIs(t, out.Cause, context.Canceled)
	require.Zero(t, out.Usage.PeakMemory)
}

func TestAPollOfAbsurdSizeIsRefusedWithoutHarm(t *testing.T) {
	t.Parallel()
	require.Equal(t, host.Succeeded, run(t, "poll-flood", input("")).Kind)
}

// panicking breaks the host's side of an attempt.
type panicking struct{}

func (panicking) Log(abi.LogLine) { panic("secret host detail") }
func (panicking) Progress([]byte) { panic(errors.New("secret host detail")) }

func TestAPanicOfTheHostsOwnCodeIsAHostFault(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	for name, a := range map[string]host.Attempt{
		"log":       {Sink: panicking{}, Input: []byte("x")},
		"progress":  {Sink: panicking{}, Input: []byte("{}")},
		"heartbeat": {Heartbeat: func() uint32 { return uint32([]int{}[len("secret host detail")]) }},
		"cat":       {Sink: panicking{}, Input: []byte("ea line without an end")},
		"meta":      {Meta: abi.Meta{Config: []byte("no JSON")}},
	} {
		out := load(t, e, name).Run(context.Background(), a)
		require.Equal(t, host.Failed, out.Kind, name)
		require.Equal(t, abi.ClassHostFault, out.Failure.Class, name)
		require.Equal(t, abi.OriginHost, out.Failure.Origin)
		require.NotContains(t, out.Failure.Message+out.Failure.Stack, "secret", name)
		require.NotContains(t, out.Failure.Message+out.Failure.Stack, ".go:", name)
	}
	out := load(t, e, "noop").Run(context.Background(), host.Attempt{})
	require.Equal(t, host.Succeeded, out.Kind, "the next attempt is well")
}
