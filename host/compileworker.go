package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskq-host/taskq-host/abi"
)

// compileThreads of one worker: two halve the time of a big module, and more
// would take the processors from the attempts.
const compileThreads = 2

// CompileWorker is the main function of a compile worker: it limits itself,
// reads one module from stdin, compiles it into the host's cache directory,
// answers on stdout and returns the exit code. It must be the first thing
// that its process does, and the last.
func CompileWorker(stdin io.Reader, stdout io.Writer) int {
	answer := compileAnswer{Engine: engineFingerprint()}
	if err := compileForHost(stdin, &answer); err != nil {
		answer.Error = err.Error()
	}
	if err := json.NewEncoder(stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

func compileForHost(stdin io.Reader, answer *compileAnswer) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var request compileRequest
	if err := json.Unmarshal(line, &request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if request.Size < 0 || request.Size > 4*abi.MaxModule || request.AddressSpace <= 0 || request.CPUSeconds <= 0 {
		return fmt.Errorf("the request makes no sense: %s", line)
	}
	if err := limitSelf(request.AddressSpace, request.CPUSeconds); err != nil {
		return err
	}
	code := make([]byte, request.Size)
	if _, err := io.ReadFull(in, code); err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	if err := privateDir(request.CacheDir); err != nil {
		return err
	}
	cache, err := wazero.NewCompilationCacheWithDir(request.CacheDir)
	if err != nil {
		return fmt.Errorf("open the compilation cache: %w", err)
	}
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache, request.Interruption))
	if _, err := engine.CompileModule(experimental.WithCompilationWorkers(ctx, compileThreads), code); err != nil {
		answer.Reason = err.Error()
	}
	return nil // the process ends: nothing needs closing
}

// limitSelf bounds what this process may take. The heap's limit makes the
// collector work harder before the address space ends.
func limitSelf(addressSpace, cpuSeconds int64) error {
	debug.SetMemoryLimit(addressSpace / 4)
	return limitProcess(addressSpace, cpuSeconds)
}

// engineFingerprint is equal in two processes that find each other's compiled
// code.
func engineFingerprint() string {
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				version = dep.Version
			}
		}
	}
	return fmt.Sprintf("wazero %s %s/%s", version, runtime.GOOS, runtime.GOARCH)
}

// InCompileWorker reports whether this process was started as a compile
// worker; a test binary asks in its TestMain.
func InCompileWorker() bool { return os.Getenv(CompileWorkerEnv) == "1" }
