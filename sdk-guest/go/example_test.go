package taskq_test

import (
	"context"
	"fmt"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

type Order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

type Receipt struct {
	Charged int `json:"charged"`
}

// CardDeclined is charge.CardDeclined to the host's rules, in a package of
// that name.
type CardDeclined struct{ Code string }

func (e *CardDeclined) Error() string { return "the card was declined: " + e.Code }

// Charge is an actor's handler. The actor's main.go exports it:
//
//	//go:wasmexport taskq_v1_run
//	func run() int32 { return taskq.Handle(Charge) }
//
//	func main() {}
func Charge(ctx context.Context, in Order) (Receipt, error) {
	taskq.Log(ctx).Info("charging", "order", in.ID, "attempt", taskq.Meta(ctx).Attempt)
	switch {
	case in.Cents == 0:
		return Receipt{}, taskq.Snooze(time.Minute) // no price yet
	case in.Cents > 100_00:
		return Receipt{}, taskq.Permanent(&CardDeclined{Code: "limit"})
	}
	return Receipt{Charged: in.Cents}, nil
}

// A handler is tested like any function, in the host's words.
func ExampleTry() {
	for _, cents := range []int{700, 0, 20_000} {
		out := taskq.Try(context.Background(), Charge, taskq.Trial{Payload: Order{ID: "o1", Cents: cents}})
		switch out.Kind {
		case taskq.Succeeded:
			fmt.Println(out.Kind, string(out.Result))
		case taskq.Snoozed:
			fmt.Println(out.Kind, out.Delay)
		case taskq.Failed:
			fmt.Println(out.Kind, out.Failure.Class, "permanent:", out.Failure.Permanent)
		}
	}
	// Output:
	// succeeded {"charged":700}
	// snoozed 1m0s
	// failed taskq_test.CardDeclined permanent: true
}

// A classifier of one's own: what the bank calls busy waits ten minutes.
//
//	//go:wasmexport taskq_v1_classify
//	func classify() int32 { return taskq.Classify(Judge) }
func Judge(in taskq.ClassifyInput) *taskq.Override {
	if in.Failure.Class != "bank.Busy" {
		return nil // no opinion
	}
	delay := (10 * time.Minute).Milliseconds()
	return &taskq.Override{Kind: taskq.Transient, DelayMS: &delay, Reason: "the bank is busy"}
}

func ExampleClassify() {
	answer := Judge(taskq.ClassifyInput{Failure: taskq.Failure{Class: "bank.Busy"}})
	fmt.Println(answer.Kind, *answer.DelayMS)
	// Output: transient 600000
}
