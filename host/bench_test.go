//go:build unix

package host_test

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// BenchmarkAttempt is what the host adds to an attempt: everything but the
// store. The memory is the module's minimum.
func BenchmarkAttempt(b *testing.B) {
	for _, c := range []struct {
		name, fixture string
		attempt       host.Attempt
	}{
		{"noop/64KiB", "noop", host.Attempt{Timeout: time.Minute}},
		{"noop/4MiB", "memory-begins-big", host.Attempt{Timeout: time.Minute}},
		{"echo", "echo", host.Attempt{Timeout: time.Minute, Input: []byte(`{"a":1}`)}},
		{"meta", "meta", host.Attempt{Timeout: time.Minute, Meta: abi.Meta{JobID: "j", Tenant: "t"}}},
		{"command", "exit", host.Attempt{Timeout: time.Minute, Input: []byte("0")}},
		{"prelude", "prelude", host.Attempt{Timeout: time.Minute}},
		{"snooze", "defer", host.Attempt{Timeout: time.Minute, Input: []byte("s")}},
		{"trap", "traps", host.Attempt{Timeout: time.Minute, Input: []byte("u")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := load(b, newEngine(b, host.Options{}), c.fixture)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				if out := m.Run(ctx, c.attempt); out.Kind == 0 {
					b.Fatal("no outcome")
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime is what this process used so far, in nanoseconds, collector
// included: on a busy machine it says more than the wall clock.
func processorTime(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
