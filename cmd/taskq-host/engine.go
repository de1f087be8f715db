package main

import (
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/host"
)

// newEngine makes the engine that runs guests. Its compilations happen in
// children of this same executable. memory is the limit of one attempt in
// bytes; 0 is the engine's own.
func newEngine(cmd *cobra.Command, memory int64, log hclog.Logger) (*host.Engine, error) {
	dir, err := cacheDir(cmd)
	if err != nil {
		return nil, err
	}
	return engineIn(dir, memory, log)
}

func engineIn(dir string, memory int64, log hclog.Logger) (*host.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed("own executable", err)
	}
	e, err := host.New(host.Options{
		Log: log, CacheDir: dir, Limits: host.Limits{Memory: memory},
		Compile: host.CompileOptions{Command: []string{self, compileWorkerName}},
	})
	if err != nil {
		return nil, failed("engine", err)
	}
	return e, nil
}

const compileWorkerName = "compile-worker"

// newCompileWorker is the command that the engine starts for each compilation:
// a process that may die of what it reads.
func newCompileWorker() *cobra.Command {
	return &cobra.Command{
		Use:    compileWorkerName,
		Short:  "Compile one module from stdin (started by the engine)",
		Hidden: true,
		Args:   exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code := host.CompileWorker(cmd.InOrStdin(), cmd.OutOrStdout()); code != exitOK {
				return quietly(code)
			}
			return nil
		},
	}
}
