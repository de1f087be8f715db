package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskq-host/taskq-host/host"
)

// start measures whole attempts of guests that do nothing: from the call of
// Run to its return, so both the start and the way back to the image are in
// it. What it's compared with makes an instance for each attempt.
func (b *bench) start(ctx context.Context) error {
	small, err := b.fixture("noop")
	if err != nil {
		return err
	}
	inC, err := os.ReadFile(b.inC)
	if err != nil {
		return err
	}
	for _, guest := range []struct {
		name string
		wasm []byte
	}{{"go", b.guest}, {"c", inC}, {"wat", small}} {
		if err := b.startOf(ctx, guest.name, guest.wasm); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) startOf(ctx context.Context, name string, wasm []byte) error {
	fresh, pooled, close, err := enginePair(ctx, wasm)
	if err != nil {
		return err
	}
	defer close()
	var times [2][]time.Duration
	for range b.n {
		for i, m := range []*host.Module{fresh, pooled} {
			began := time.Now()
			out := m.Run(ctx, host.Attempt{Timeout: time.Minute})
			times[i] = append(times[i], time.Since(began))
			if out.Kind != host.Succeeded {
				return fmt.Errorf("%s: %+v", name, out.Failure)
			}
		}
	}
	b.add("fresh_start/"+name, percentile(times[0], 50), "us", "")
	b.add("pristine_start/"+name, percentile(times[1], 50), "us", "fresh_start/"+name)
	b.add("pristine_start_p99/"+name, percentile(times[1], 99), "us", "")
	before := processorTime()
	for range 10 * b.n {
		pooled.Run(ctx, host.Attempt{Timeout: time.Minute})
	}
	b.add("attempt/"+name, float64(processorTime()-before)/1e3/float64(10*b.n), "us of processor time", "")
	if name != "go" {
		return nil
	}
	return b.resident(ctx, name, pooled)
}

// resident is what idle slots keep: attempts that wait for each other in their
// heartbeat leave one each.
func (b *bench) resident(ctx context.Context, name string, m *host.Module) error {
	const slots = 32
	before, err := privateMemory()
	if err != nil {
		return err
	}
	var inside, group sync.WaitGroup
	inside.Add(slots)
	for range slots {
		group.Go(func() {
			m.Run(ctx, host.Attempt{Timeout: time.Minute, Heartbeat: func() uint32 {
				inside.Done()
				inside.Wait()
				return 0
			}})
		})
	}
	group.Wait()
	after, err := privateMemory()
	if err != nil {
		return err
	}
	b.add("slot_resident/"+name, (after-before)/1024/(slots-1), "MiB", "")
	return nil
}

// privateMemory is what this process alone has in memory, in KiB.
func privateMemory() (float64, error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, err
	}
	total := 0.0
	for row := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(row, "Private_Dirty: %f kB", &kib); err == nil {
			total += kib
		}
	}
	return total, nil
}

func enginePair(ctx context.Context, wasm []byte) (fresh, pooled *host.Module, done func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	var engines []*host.Engine
	done = func() {
		for _, e := range engines {
			_ = e.Close(ctx)
		}
	}
	var modules [2]*host.Module
	for i, pool := range []host.PoolOptions{{}, {Slots: 64}} {
		e, err := host.New(host.Options{Pool: pool, Compile: host.CompileOptions{Command: []string{self}}})
		if err != nil {
			done()
			return nil, nil, nil, err
		}
		engines = append(engines, e)
		if modules[i], err = e.Load(ctx, wasm); err != nil {
			done()
			return nil, nil, nil, err
		}
	}
	return modules[0], modules[1], done, nil
}

// processorTime is what this process used so far, in nanoseconds.
func processorTime() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
