package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverJob is River's no-op: native Go, nothing isolated.
type riverJob struct {
	N int `json:"n"`
}

func (riverJob) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	done *atomic.Int64
}

func (w *riverWorker) Work(context.Context, *river.Job[riverJob]) error {
	w.done.Add(1)
	return nil
}

// riverSetting is how River is run.
type riverSetting struct {
	name     string
	workers  int
	cooldown time.Duration
	poll     time.Duration
}

var (
	riverDefault = riverSetting{"river_default", 100, 0, 0}
	riverTuned   = riverSetting{"river_tuned", 2000, 2 * time.Millisecond, 20 * time.Millisecond}
)

type riverPeer struct {
	pool   *pgxpool.Pool
	client *river.Client[pgxTx]
	done   *atomic.Int64
}

func newRiver(ctx context.Context, dsn string, s riverSetting) (*riverPeer, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	p := &riverPeer{pool: pool, done: &atomic.Int64{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{done: p.done})
	p.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.workers}}, Workers: workers,
		FetchCooldown: s.cooldown, FetchPollInterval: s.poll, Logger: slog.New(slog.DiscardHandler),
	})
	return p, err
}

func (p *riverPeer) insert(ctx context.Context, n int) (time.Duration, error) {
	start := time.Now()
	for left := n; left > 0; left -= 1000 {
		batch := make([]river.InsertManyParams, min(left, 1000))
		for i := range batch {
			batch[i] = river.InsertManyParams{Args: riverJob{N: i}}
		}
		if _, err := p.client.InsertManyFast(ctx, batch); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// burn works off n jobs and answers how long it took.
func (p *riverPeer) burn(ctx context.Context, n int) (time.Duration, error) {
	if _, err := p.pool.Exec(ctx, "ANALYZE river_job"); err != nil {
		return 0, err
	}
	p.done.Store(0)
	start := time.Now()
	if err := p.client.Start(ctx); err != nil {
		return 0, err
	}
	for p.done.Load() < int64(n) {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("river: %d of %d: %w", p.done.Load(), n, ctx.Err())
		}
		<-time.After(time.Millisecond)
	}
	// Done means recorded: River's completer writes in batches too.
	for {
		var left int
		if err := p.pool.QueryRow(ctx, "SELECT count(*) FROM (SELECT FROM river_job WHERE state IN ('available', 'running') LIMIT 1) x").Scan(&left); err != nil {
			return 0, err
		}
		if left == 0 {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	took := time.Since(start)
	return took, p.client.Stop(ctx)
}

func (p *riverPeer) close() { p.pool.Close() }
