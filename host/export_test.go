package host

import (
	"context"
	"encoding/json"
	"io"

	"github.com/taskq-host/taskq-host/host/scan"
)

// CacheDir gives the directory of compiled code.
func (e *Engine) CacheDir() string { return e.cacheDir }

// Freed counts the compiled modules that nobody held any more.
func (e *Engine) Freed() int64 { return e.freed.Load() }

// CompileOutside has a worker compile what Load would, and loads nothing.
func (e *Engine) CompileOutside(wasm []byte) error {
	scanned, err := scan.Scan(wasm, e.scan)
	if err != nil {
		return err
	}
	code, err := e.rewritten(wasm, scanned)
	if err != nil {
		return err
	}
	return e.compileOutside(context.Background(), code)
}

// CompileWorkerUnlimited is CompileWorker without the limits on the process,
// which this one would keep.
func CompileWorkerUnlimited(stdin io.Reader, stdout io.Writer) {
	answer := compileAnswer{}
	if err := compileForHost(stdin, &answer); err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(stdout).Encode(answer)
}
