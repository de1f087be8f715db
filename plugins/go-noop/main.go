// An actor that does nothing, for measuring what everything around it costs.
package main

import (
	"context"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

//go:wasmexport taskq_v1_run
func run() int32 { return taskq.Handle(noop) }

func main() {}

func noop(context.Context, taskq.Raw) (taskq.Raw, error) { return taskq.Raw("null"), nil }
