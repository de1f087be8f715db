// Command sandbox measures the sandbox beside the plain engine, the engine's
// own interruption, and an instance made for each attempt: in one run, taking
// turns, because on a busy machine only ratios mean much.
//
//	make bench-sandbox                       all, as JSON lines and a table
//	make bench-sandbox BENCHFLAGS='-only metering'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/taskq-host/taskq-host/host"
)

// line is one result. Ratio is Value to that of RatioTo; 0 where it has none.
type line struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	RatioTo string  `json:"ratio_to,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
}

type bench struct {
	fixtures string
	inC      string
	guest    []byte // in Go
	n        int
	lines    []line
}

func main() {
	if host.InCompileWorker() {
		os.Exit(host.CompileWorker(os.Stdin, os.Stdout))
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{}
	only := flag.String("only", "", "parts to measure, separated by commas: start, metering, hostile; empty means all")
	out := flag.String("out", "", "file that the JSON lines are also appended to")
	flag.StringVar(&b.fixtures, "fixtures", "../testdata/wasm", "directory of the small guests")
	flag.StringVar(&b.inC, "c", "../plugins/c-noop/actor.wasm", "the guest in C that does nothing")
	flag.IntVar(&b.n, "n", 300, "attempts of each kind")
	flag.Parse()
	var err error
	if b.guest, err = buildGuest(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"start", b.start}, {"metering", b.metering}, {"hostile", b.hostile}} {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), part.name) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return b.print(*out)
}

// buildGuest builds the module in Go from its source, next to this file's.
func buildGuest(ctx context.Context) (wasm []byte, err error) {
	dir, err := os.MkdirTemp("", "taskq-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "guest.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", file, ".")
	build.Dir = filepath.Join("sandbox", "guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w: %s", err, text)
	}
	return os.ReadFile(file)
}

func (b *bench) fixture(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(b.fixtures, name+".wasm"))
}

// add takes a result down; base is what it's compared with, "" for nothing.
func (b *bench) add(name string, value float64, unit, base string) {
	l := line{Name: name, Value: value, Unit: unit}
	for _, other := range b.lines {
		if other.Name == base && other.Value != 0 {
			l.RatioTo, l.Ratio = base, value/other.Value
		}
	}
	b.lines = append(b.lines, l)
}

// percentile of durations, in microseconds.
func percentile(d []time.Duration, p int) float64 {
	slices.Sort(d)
	return float64(d[min(len(d)-1, len(d)*p/100)].Nanoseconds()) / 1e3
}

func (b *bench) print(out string) error {
	var raw strings.Builder
	for _, l := range b.lines {
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		fmt.Fprintf(&raw, "%s\n", text)
	}
	fmt.Print(raw.String())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table)
	for _, l := range b.lines {
		ratio := ""
		if l.RatioTo != "" {
			ratio = fmt.Sprintf("%.3g × %s", l.Ratio, l.RatioTo)
		}
		fmt.Fprintf(table, "%s\t%.4g %s\t%s\n", l.Name, l.Value, l.Unit, ratio)
	}
	if err := table.Flush(); err != nil || out == "" {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(raw.String())
	return errors.Join(err, file.Close())
}
