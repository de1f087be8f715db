package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// shapes are guests that don't end by themselves, or do harm on their way.
var shapes = []string{"loop", "recursion-without-loop", "call-flood", "line-flood", "log-flood", "sleep", "memory-bomb"}

// hostile measures how long after its deadline a guest of each shape stops,
// how much a neighbour suffers from it, and how long the collector waits for
// the world to stop meanwhile.
func (b *bench) hostile(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "taskq-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := host.New(host.Options{
		CacheDir: filepath.Join(dir, "cache"), Compile: host.CompileOptions{InProcess: true}, Pool: host.PoolOptions{Slots: 64},
	})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	good, err := e.Load(ctx, b.guest)
	if err != nil {
		return err
	}
	const base = "neighbour_p99/none"
	before := stops()
	b.add(base, b.neighbour(ctx, good), "us", "")
	for _, shape := range shapes {
		wasm, err := b.fixture(shape)
		if err != nil {
			return err
		}
		m, err := e.Load(ctx, wasm)
		if err != nil {
			return err
		}
		late, p99, err := b.beside(ctx, good, m)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		if len(late) > 0 {
			b.add("stop_latency_p50/"+shape, percentile(late, 50), "us", "")
			b.add("stop_latency_p99/"+shape, percentile(late, 99), "us", "")
		}
		b.add("neighbour_p99/"+shape, p99, "us", base)
	}
	b.add("stw_max", longestStop(before), "us", "")
	return nil
}

// neighbour is the 99th percentile of a good guest's attempts.
func (b *bench) neighbour(ctx context.Context, good *host.Module) float64 {
	var times []time.Duration
	good.Run(ctx, host.Attempt{Timeout: time.Minute}) // makes the image
	for range 10 * b.n {
		began := time.Now()
		good.Run(ctx, host.Attempt{Timeout: time.Minute})
		times = append(times, time.Since(began))
	}
	return percentile(times, 99)
}

// beside runs a hostile guest again and again beside a good one, with the
// collector running all the time.
func (b *bench) beside(ctx context.Context, good, hostile *host.Module) (late []time.Duration, p99 float64, err error) {
	const deadline = 20 * time.Millisecond
	until, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for until.Err() == nil || len(late) < 50 {
			out := hostile.Run(ctx, host.Attempt{Timeout: deadline})
			if out.Kind != host.Failed || out.Failure.Class != abi.ClassTimeout {
				if until.Err() != nil {
					return
				}
				continue
			}
			late = append(late, out.Usage.Duration-deadline)
		}
	})
	group.Go(func() {
		for until.Err() == nil {
			runtime.GC()
		}
	})
	p99 = b.neighbour(ctx, good)
	stop()
	group.Wait()
	return late, p99, nil
}

func stops() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// longestStop is the upper bound of the longest stop of the world since.
func longestStop(before *metrics.Float64Histogram) float64 {
	h := stops()
	longest := 0.0
	for i, n := range h.Counts {
		if n == before.Counts[i] {
			continue
		}
		if longest = h.Buckets[i+1]; math.IsInf(longest, 0) {
			longest = h.Buckets[i]
		}
	}
	return longest * 1e6
}
