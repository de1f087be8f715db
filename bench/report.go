package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Row is one figure: the median of its runs, and what it is compared with.
type Row struct {
	Name    string    `json:"name"`
	Value   float64   `json:"value"`
	Unit    string    `json:"unit"`
	RatioTo string    `json:"ratio_to,omitempty"`
	Ratio   float64   `json:"ratio,omitempty"`
	Runs    []float64 `json:"runs,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// Report gathers rows, prints each as a JSON line as it comes, and keeps them.
type Report struct {
	out  io.Writer
	rows []Row
}

func (r *Report) add(row Row) {
	r.rows = append(r.rows, row)
	b, _ := json.Marshal(row)
	fmt.Fprintln(r.out, string(b))
}

// runs adds the median of several runs.
func (r *Report) runs(name, unit string, runs []float64) {
	r.add(Row{Name: name, Value: median(runs), Unit: unit, Runs: runs})
}

// ratio sets a row's ratio to another row of the same report.
func (r *Report) ratio(name, to string) {
	a, b := r.find(name), r.find(to)
	if a == nil || b == nil || b.Value == 0 {
		return
	}
	a.RatioTo, a.Ratio = to, a.Value/b.Value
	b2, _ := json.Marshal(a)
	fmt.Fprintln(r.out, string(b2))
}

func (r *Report) find(name string) *Row {
	for i := range r.rows {
		if r.rows[i].Name == name {
			return &r.rows[i]
		}
	}
	return nil
}

func (r *Report) table(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.rows {
		ratio := ""
		if row.RatioTo != "" {
			ratio = fmt.Sprintf("%.2f × %s", row.Ratio, row.RatioTo)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t\n", row.Name, number(row.Value), row.Unit, ratio)
	}
	_ = tw.Flush()
}

func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

func percentile(v []float64, p float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return s[min(len(s)-1, int(p*float64(len(s))))]
}

// save keeps the raw output with what the machine is.
func (r *Report) save(dir, name string, facts map[string]string) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	w := bufio.NewWriter(f)
	head, _ := json.Marshal(facts)
	fmt.Fprintln(w, string(head))
	for _, row := range r.rows {
		b, _ := json.Marshal(row)
		fmt.Fprintln(w, string(b))
	}
	return w.Flush()
}

func machine(postgres string) map[string]string {
	facts := map[string]string{
		"date": time.Now().UTC().Format(time.RFC3339), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH,
		"cpus": fmt.Sprint(runtime.NumCPU()), "postgres": postgres,
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				facts["cpu"] = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		facts["load_at_start"] = strings.TrimSpace(string(b))
	}
	return facts
}
