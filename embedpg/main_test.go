//go:build linux || darwin

package embedpg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/embedpg"
)

// hostEnv makes the test binary a program that uses a server, for the tests
// to kill; it holds a hostPlan.
const hostEnv = "TASKQ_EMBEDPG_TEST_HOST"

type hostPlan struct {
	Options      embedpg.Options
	Unsupervised bool // forget the call that programs must make
	Watch        bool
}

// hostLine is one line of what a host says: first how its start went, then
// each notice of Watch.
type hostLine struct {
	Error   string
	Started bool
	DSN     string
	Status  embedpg.Status
}

func TestMain(m *testing.M) {
	arg, isHost := os.LookupEnv(hostEnv)
	var plan hostPlan
	if isHost {
		if err := json.Unmarshal([]byte(arg), &plan); err != nil {
			panic(err)
		}
	}
	if !plan.Unsupervised {
		embedpg.Supervise()
	}
	if isHost {
		host(plan)
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if bin, err := testBinary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(bin))
		}
		os.Exit(code)
	}))
}

// host holds a server until SIGTERM or the end of its input.
func host(plan hostPlan) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	say := func(l hostLine) {
		b, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(b))
	}
	s, err := embedpg.Start(ctx, plan.Options)
	if err != nil {
		say(hostLine{Error: err.Error()})
		return
	}
	st, err := s.Status()
	if err != nil {
		panic(err)
	}
	say(hostLine{Started: s.Started(), DSN: s.DSN("postgres"), Status: st})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if plan.Watch {
		s.Watch(ctx, 20*time.Millisecond, func(st embedpg.Status, err error) {
			l := hostLine{Status: st}
			if err != nil {
				l.Error = err.Error()
			}
			say(l)
		})
	}
	<-ctx.Done()
	if err := s.Close(); err != nil {
		panic(err)
	}
}
