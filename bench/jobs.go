package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// ours is the host in one process: a store, an engine and one worker.
type ours struct {
	store   *store.Store
	engine  *host.Engine
	catalog *catalog.Catalog
	tenant  store.Tenant
	live    *config.Live
	log     hclog.Logger
}

func newOurs(ctx context.Context, dsn string, flags map[string]string) (*ours, error) {
	s, tenant, err := openStore(ctx, dsn)
	if err != nil {
		return nil, err
	}
	o := &ours{store: s, tenant: tenant, log: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr})}
	if o.engine, err = host.New(host.Options{Log: o.log, Compile: host.CompileOptions{InProcess: true}}); err != nil {
		return nil, err
	}
	if o.catalog, err = catalog.New(s, o.engine, o.log); err != nil {
		return nil, err
	}
	given := map[string]config.Flag{}
	for path, value := range flags {
		given[path] = config.Flag{Name: path, Value: value}
	}
	o.live, err = config.Open(config.Sources{Flags: given}, o.log)
	return o, err
}

func (o *ours) close(ctx context.Context) {
	_ = o.engine.Close(ctx)
	o.store.Close()
}

func (o *ours) push(ctx context.Context, name, file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = o.catalog.Push(ctx, o.tenant, name, wasm)
	return err
}

// start runs a worker; the answer stops it.
func (o *ours) start(ctx context.Context) (*worker.Worker, func() error, error) {
	w, err := worker.New(worker.Options{Store: o.store, Catalog: o.catalog, Config: o.live, Log: o.log, Version: "bench"})
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	return w, func() error {
		cancel()
		return <-done
	}, nil
}

// burn works n jobs off and answers how long it took: until each is recorded.
func (o *ours) burn(ctx context.Context, n int) (time.Duration, error) {
	start := time.Now()
	w, stop, err := o.start(ctx)
	if err != nil {
		return 0, err
	}
	for w.Stats().Succeeded.Load() < int64(n) {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("worker: %d of %d: %w", w.Stats().Succeeded.Load(), n, ctx.Err())
		}
		<-time.After(time.Millisecond)
	}
	took := time.Since(start)
	return took, stop()
}

// latency is from the enqueue's call to the attempt's start, on an idle
// system, one job at a time.
func (o *ours) latency(ctx context.Context, n int) ([]float64, error) {
	_, stop, err := o.start(ctx)
	if err != nil {
		return nil, err
	}
	var ms []float64
	for range n {
		out, err := o.store.Enqueue(ctx, o.tenant, []store.NewJob{{Queue: "default", Actor: "noop", Payload: payload}})
		if err != nil {
			return nil, err
		}
		if err := o.store.Notify(ctx, "default"); err != nil {
			return nil, err
		}
		for {
			j, err := o.store.Job(ctx, o.tenant, out[0].ID)
			if err != nil {
				return nil, err
			}
			if j.Status.Terminal() {
				ms = append(ms, float64(j.StartedAt.Sub(j.CreatedAt).Microseconds())/1000)
				break
			}
			<-time.After(2 * time.Millisecond)
		}
		<-time.After(15 * time.Millisecond) // idle again
	}
	return ms, stop()
}
