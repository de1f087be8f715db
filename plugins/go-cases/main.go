// An actor in Go, as a reactor with the SDK: the payload's case chooses how
// the attempt ends.
package main

import (
	"context"
	"fmt"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

//go:wasmexport taskq_v1_run
func run() int32 { return taskq.Handle(handle) }

func main() {}

// Input is the payload.
type Input struct {
	Case string `json:"case"`
	Name string `json:"name"`
}

// Output is the result.
type Output struct {
	Greeting string `json:"greeting"`
	Attempt  int    `json:"attempt"`
	Snoozes  int    `json:"snoozes,omitempty"`
}

func handle(ctx context.Context, in Input) (Output, error) {
	taskq.Log(ctx).Info("begins", "case", in.Case)
	if end, ok := cases[in.Case]; ok {
		if err := end(ctx); err != nil {
			return Output{}, fmt.Errorf("case %s: %w", in.Case, err)
		}
	} else if in.Case != "ok" {
		return Output{}, taskq.Permanent(&UnknownCase{Case: in.Case})
	}
	out := greet(ctx, in.Name)
	if in.Case == "result-too-large" {
		out.Greeting = large()
	}
	return out, nil
}

func greet(ctx context.Context, name string) Output {
	if name == "" {
		name = "world"
	}
	facts := taskq.Meta(ctx)
	return Output{Greeting: "hello, " + name, Attempt: facts.Attempt, Snoozes: facts.SnoozeCount}
}

// UnknownCase is an error with a type of its own: main.UnknownCase to rules.
type UnknownCase struct{ Case string }

func (e *UnknownCase) Error() string { return fmt.Sprintf("there is no case %q", e.Case) }
