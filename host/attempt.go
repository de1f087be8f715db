package host

import (
	"errors"
	"time"

	"github.com/taskq-host/taskq-host/abi"
)

// Attempt is one execution of one entry of a module. The host reads it and
// keeps nothing of it once [Module.Run] has returned.
type Attempt struct {
	Kind   abi.Kind // zero means abi.KindRun
	Input  []byte   // the payload, or the record for the other entries
	Meta   abi.Meta // answered by meta_read, and a command's environment
	Limits Limits   // zero fields take the engine's defaults

	// PoolKey names the grants and settings that the attempt runs under. An
	// instance is used again only for the same tenant and PoolKey.
	PoolKey string

	Sink Sink // nil drops logs and progress

	// Timeout is start_to_close; 0 means none, and a negative one has passed
	// already. When it fires the outcome is
	// a failure of class TimeoutError, whatever the guest did since.
	Timeout time.Duration

	// Heartbeat answers the guest's heartbeat with the abi.Heartbeat* bits
	// that only the caller knows (cancel, draining, lease lost). May be nil;
	// must not block.
	Heartbeat func() uint32

	// ResultContentType is what the actor declared; empty means
	// application/json for a reactor, and for a command whatever its output is.
	ResultContentType string
}

// Limits of one attempt. A zero field takes the engine's default.
type Limits struct {
	Memory    int64 // bytes of linear memory; rounded up to whole pages
	Result    int
	LogBytes  int
	LogPerSec int
	Stdio     int // bytes kept of each of stdout's and stderr's end
	HostCalls int64
	Fuel      int64 // units of work, see docs/sandbox.md; 0 here and in the engine's defaults: none
}

// Sink takes what a guest says while it runs. Its methods are called from the
// attempt's goroutine, already bounded and repaired (no NUL, valid UTF-8);
// they must not block for long.
type Sink interface {
	Log(line abi.LogLine)
	Progress(json []byte)
}

// Causes with which a caller cancels an attempt's context (context.Cause);
// the outcome's kind is Stopped and its Cause says which.
var (
	ErrCancelled   = errors.New("the job was cancelled")
	ErrInterrupted = errors.New("the worker is stopping")
	ErrLeaseLost   = errors.New("the lease was lost")
)
