package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// CompileOptions say how modules are compiled. Compiling is where a hostile
// module hurts most: its time and memory grow faster than the module, and
// nothing can interrupt it. So it happens in a process that may die.
type CompileOptions struct {
	// Command starts the compile worker, a program that calls
	// [CompileWorker]; empty means this program with the argument
	// compile-worker. CompileWorkerEnv is set in its environment, and
	// nothing of the host's own.
	Command []string

	// InProcess compiles without a worker, for tests of other things.
	InProcess bool

	Timeout      time.Duration // wall clock of one compilation, and a bound on its CPU time; 0 means a minute
	AddressSpace int64         // bytes; 0 means 4 GiB
	Concurrency  int           // workers at once; 0 means half of the processors
}

// CompileWorkerEnv is set to 1 in the environment of a compile worker.
const CompileWorkerEnv = "TASKQ_COMPILE_WORKER"

func (o CompileOptions) withDefaults() (CompileOptions, error) {
	if o.Timeout < 0 || o.AddressSpace < 0 || o.Concurrency < 0 {
		return o, errors.New("the Timeout, AddressSpace and Concurrency of Compile must not be negative")
	}
	if len(o.Command) == 0 && !o.InProcess {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find this program, for Compile.Command: %w", err)
		}
		o.Command = []string{self, "compile-worker"}
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.AddressSpace == 0 {
		o.AddressSpace = 4 << 30
	}
	if o.Concurrency == 0 {
		o.Concurrency = max(1, runtime.GOMAXPROCS(0)/2)
	}
	return o, nil
}

// compileRequest goes to the worker as one line of JSON; the module follows.
type compileRequest struct {
	CacheDir     string `json:"cache_dir"`
	AddressSpace int64  `json:"address_space"`
	CPUSeconds   int64  `json:"cpu_seconds"`
	Size         int    `json:"size"`

	Interruption Interruption `json:"interruption"`
}

// compileAnswer is what the worker prints, once.
type compileAnswer struct {
	Engine string `json:"engine"`            // engineFingerprint of the worker
	Error  string `json:"error,omitempty"`   // the worker's own trouble
	Reason string `json:"refused,omitempty"` // why the module isn't valid
}

// Answers and the worker's last words are kept this long.
const maxWorkerOutput = 64 << 10

// compileOutside has a worker compile code into the cache directory. The
// error is a *Refusal when the module is at fault.
func (e *Engine) compileOutside(ctx context.Context, code []byte) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	request, err := json.Marshal(compileRequest{
		CacheDir:     e.cacheDir,
		AddressSpace: e.compile.AddressSpace,
		CPUSeconds:   int64((2*e.compile.Timeout + time.Second - 1) / time.Second),
		Size:         len(code),
		Interruption: e.interruption,
	})
	if err != nil {
		return fmt.Errorf("compile module: %w", err)
	}
	timed, cancel := context.WithTimeout(ctx, e.compile.Timeout)
	defer cancel()
	worker := exec.CommandContext(timed, e.compile.Command[0], e.compile.Command[1:]...)
	worker.Env = []string{CompileWorkerEnv + "=1", "GOTRACEBACK=none"}
	worker.Stdin = io.MultiReader(bytes.NewReader(append(request, '\n')), bytes.NewReader(code))
	var stdout, stderr boundedBuffer
	worker.Stdout, worker.Stderr = &stdout, &stderr
	worker.WaitDelay = time.Second
	detach(worker)
	if err := worker.Start(); err != nil {
		return fmt.Errorf("start the compile worker: %w", err)
	}
	return e.judge(timed, worker.Wait(), stdout.Bytes(), stderr.String())
}

// judge says what a worker's end means.
func (e *Engine) judge(ctx context.Context, ended error, stdout []byte, stderr string) error {
	if ended != nil {
		e.log.Warn("a compile worker died", "error", ended, "stderr", stderr)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return refuse(RuleCompileTime, "the module could not be compiled within %v", e.compile.Timeout)
		}
		var exit *exec.ExitError
		if !errors.As(ended, &exit) {
			return fmt.Errorf("compile worker: %w", ended)
		}
		return refuse(RuleCompileResource, "the module could not be compiled within %d MiB of address space and %v of processor time",
			e.compile.AddressSpace>>20, 2*e.compile.Timeout)
	}
	var answer compileAnswer
	if err := json.Unmarshal(stdout, &answer); err != nil {
		e.log.Error("a compile worker gave no answer", "stdout", string(stdout), "stderr", stderr)
		return errors.New("the compile worker gave no answer: is Compile.Command a compile worker?")
	}
	switch {
	case answer.Error != "":
		return fmt.Errorf("compile worker: %s", answer.Error)
	case answer.Reason != "":
		return refuse(RuleCompileInvalid, "the module isn't valid: %s", answer.Reason)
	case answer.Engine != engineFingerprint():
		// What it compiled is no use here, and this process would compile
		// by itself without anybody noticing.
		return fmt.Errorf("the compile worker has another engine: %s, not %s", answer.Engine, engineFingerprint())
	}
	return nil
}

// boundedBuffer keeps the beginning of what is written.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxWorkerOutput-b.Len())])
	return len(p), nil
}

// privateDir makes a directory, or checks that it is private: whoever can
// write compiled code can run it.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the cache directory: %w", err)
	}
	stat, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the cache directory: %w", err)
	}
	if !stat.IsDir() {
		return fmt.Errorf("cache directory %s is no directory", dir)
	}
	if mode := stat.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("cache directory %s may be written by others (mode %04o): compiled code is trusted, so run chmod 700 on it", dir, mode)
	}
	if !ownedByUs(stat) {
		return fmt.Errorf("cache directory %s belongs to somebody else: compiled code is trusted, so use one of your own", dir)
	}
	return nil
}
