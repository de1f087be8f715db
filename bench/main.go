package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/embedpg"
)

type bench struct {
	cluster *cluster
	report  *Report
	cpu     map[string][]float64 // of the last run of each way, µs a job
	jobs    int
	runs    int
	root    string // of the repository
}

func main() {
	embedpg.Supervise()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as taskq-host does; both sides run in this process
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	jobs := flag.Int("n", 60_000, "jobs a run")
	runs := flag.Int("runs", 3, "runs of each figure; the median counts")
	only := flag.String("only", "", "only these parts, by comma: jobs, insert, latency, claim, ladder")
	out := flag.String("out", "results", "the folder that keeps the raw output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	b := &bench{cluster: c, report: &Report{out: os.Stdout}, cpu: map[string][]float64{}, jobs: *jobs, runs: *runs, root: ".."}
	facts := machine(c.version)
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"jobs", b.throughput}, {"insert", b.inserts}, {"latency", b.latencies}, {"claim", b.claims}, {"ladder", b.ladders}} {
		if *only != "" && !strings.Contains(","+*only+",", ","+part.name+",") {
			continue
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	fmt.Fprintln(os.Stdout)
	b.report.table(os.Stdout)
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	name := "jobs.jsonl"
	if *only != "" {
		name = strings.ReplaceAll(*only, ",", "-") + ".jsonl"
	}
	return b.report.save(*out, name, facts)
}

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// throughput burns the same number of no-op jobs in every way, in turn, so
// that the machine's moods meet all of them.
func (b *bench) throughput(ctx context.Context) error {
	results := map[string][]float64{}
	var bytes []float64
	ways := []struct {
		name string
		run  func(context.Context) (time.Duration, error)
	}{
		{"jobs/statements", func(ctx context.Context) (time.Duration, error) { return b.statementsRun(ctx, &bytes) }},
		{"jobs/small_guest", func(ctx context.Context) (time.Duration, error) {
			return b.guestRun(ctx, "small_guest", filepath.Join(b.root, "bin", "plugins", "c-noop.wasm"), b.jobs)
		}},
		{"jobs/river_tuned", func(ctx context.Context) (time.Duration, error) { return b.riverRun(ctx, riverTuned, b.jobs) }},
	}
	for range b.runs {
		for _, way := range ways {
			took, err := way.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			results[way.name] = append(results[way.name], rate(b.jobs, took))
		}
	}
	// Slower by nature: fewer jobs, one run.
	few := b.jobs / 10
	if took, err := b.guestRun(ctx, "go_guest", filepath.Join(b.root, "bin", "plugins", "go-noop.wasm"), few); err == nil {
		results["jobs/go_guest"] = []float64{rate(few, took)}
	} else if !os.IsNotExist(err) {
		return err
	}
	took, err := b.riverRun(ctx, riverDefault, few)
	if err != nil {
		return err
	}
	results["jobs/river_default"] = []float64{rate(few, took)}
	for _, name := range []string{"jobs/statements", "jobs/small_guest", "jobs/go_guest", "jobs/river_tuned", "jobs/river_default"} {
		if runs := results[name]; len(runs) > 0 {
			b.report.runs(name, "jobs/s", runs)
		}
	}
	b.report.ratio("jobs/small_guest", "jobs/river_tuned")
	b.report.ratio("jobs/go_guest", "jobs/river_tuned")
	b.report.ratio("jobs/statements", "jobs/river_tuned")
	b.report.ratio("jobs/river_default", "jobs/river_tuned")
	for _, way := range []string{"statements", "small_guest", "go_guest", "river_tuned"} {
		if runs := b.cpu[way]; len(runs) > 0 {
			b.report.runs("cpu/"+way, "µs/job", runs)
		}
	}
	b.report.ratio("cpu/small_guest", "cpu/river_tuned")
	b.report.runs("wal/job", "bytes", bytes)
	return nil
}

// statementsRun also measures the WAL from enqueue to end.
func (b *bench) statementsRun(ctx context.Context, perJob *[]float64) (time.Duration, error) {
	dsn, err := b.cluster.database(ctx)
	if err != nil {
		return 0, err
	}
	s, tenant, err := openStore(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var took time.Duration
	bytes, err := wal(ctx, dsn, func() error {
		if _, err := fill(ctx, s, tenant, "noop", b.jobs); err != nil {
			return err
		}
		meter := startCPU(b.cluster.data)
		took, err = burnStatements(ctx, s, b.jobs, 100, 4)
		b.cpuOf("statements", meter, b.jobs)
		return err
	})
	*perJob = append(*perJob, bytes/float64(b.jobs)-float64(len(payload)))
	return took, err
}

func (b *bench) guestRun(ctx context.Context, way, wasm string, n int) (time.Duration, error) {
	if _, err := os.Stat(wasm); err != nil {
		return 0, err
	}
	dsn, err := b.cluster.database(ctx)
	if err != nil {
		return 0, err
	}
	o, err := newOurs(ctx, dsn, nil)
	if err != nil {
		return 0, err
	}
	defer o.close(ctx)
	if err := o.push(ctx, "noop", wasm); err != nil {
		return 0, err
	}
	if _, err := fill(ctx, o.store, o.tenant, "noop", n); err != nil {
		return 0, err
	}
	meter := startCPU(b.cluster.data)
	defer func() { b.cpuOf(way, meter, n) }()
	return o.burn(ctx, n)
}

func (b *bench) cpuOf(way string, m *cpuMeter, n int) {
	b.cpu[way] = append(b.cpu[way], m.perJob(n))
}

func (b *bench) riverRun(ctx context.Context, s riverSetting, n int) (time.Duration, error) {
	dsn, err := b.cluster.database(ctx)
	if err != nil {
		return 0, err
	}
	p, err := newRiver(ctx, dsn, s)
	if err != nil {
		return 0, err
	}
	defer p.close()
	if _, err := p.insert(ctx, n); err != nil {
		return 0, err
	}
	meter := startCPU(b.cluster.data)
	defer func() { b.cpuOf(s.name, meter, n) }()
	return p.burn(ctx, n)
}

func (b *bench) inserts(ctx context.Context) error {
	var mine, theirs []float64
	for range b.runs {
		dsn, err := b.cluster.database(ctx)
		if err != nil {
			return err
		}
		s, tenant, err := openStore(ctx, dsn)
		if err != nil {
			return err
		}
		took, err := fill(ctx, s, tenant, "noop", b.jobs)
		s.Close()
		if err != nil {
			return err
		}
		mine = append(mine, rate(b.jobs, took))
		if dsn, err = b.cluster.database(ctx); err != nil {
			return err
		}
		p, err := newRiver(ctx, dsn, riverTuned)
		if err != nil {
			return err
		}
		took, err = p.insert(ctx, b.jobs)
		p.close()
		if err != nil {
			return err
		}
		theirs = append(theirs, rate(b.jobs, took))
	}
	b.report.runs("insert/1000", "jobs/s", mine)
	b.report.runs("insert/river_fast_1000", "jobs/s", theirs)
	b.report.ratio("insert/1000", "insert/river_fast_1000")
	return nil
}

func (b *bench) latencies(ctx context.Context) error {
	dsn, err := b.cluster.database(ctx)
	if err != nil {
		return err
	}
	o, err := newOurs(ctx, dsn, nil)
	if err != nil {
		return err
	}
	defer o.close(ctx)
	if err := o.push(ctx, "noop", filepath.Join(b.root, "bin", "plugins", "c-noop.wasm")); err != nil {
		return err
	}
	ms, err := o.latency(ctx, 200)
	if err != nil {
		return err
	}
	b.report.add(Row{Name: "enqueue_to_start/p50", Value: percentile(ms, 0.5), Unit: "ms"})
	b.report.add(Row{Name: "enqueue_to_start/p99", Value: percentile(ms, 0.99), Unit: "ms"})
	return nil
}

func (b *bench) claims(ctx context.Context) error {
	for _, c := range []struct {
		name           string
		depth, tenants int
	}{{"1k", 21_000, 10_000}, {"1M", 1_000_000, 10_000}} {
		dsn, err := b.cluster.database(ctx)
		if err != nil {
			return err
		}
		s, _, err := openStore(ctx, dsn)
		if err != nil {
			return err
		}
		ms, err := claimCost(ctx, s, c.depth, c.tenants, 190)
		s.Close()
		if err != nil {
			return err
		}
		b.report.add(Row{Name: "claim_100/" + c.name + "/p50", Value: percentile(ms, 0.5), Unit: "ms"})
		b.report.add(Row{Name: "claim_100/" + c.name + "/p99", Value: percentile(ms, 0.99), Unit: "ms"})
	}
	b.report.ratio("claim_100/1M/p50", "claim_100/1k/p50")
	return nil
}
