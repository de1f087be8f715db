package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
)

var outcomeNames = map[host.OutcomeKind]string{
	host.Succeeded: "succeeded", host.Failed: "failed", host.Snoozed: "snoozed", host.RetryAfter: "retry_after", host.Stopped: "stopped",
}

// outcomeJSON is an outcome as "actor run --json" prints it.
type outcomeJSON struct {
	Outcome       string          `json:"outcome"`
	Result        json.RawMessage `json:"result,omitempty"`        // where it is JSON
	ResultText    *string         `json:"result_text,omitempty"`   // where it is other text
	ResultBase64  *string         `json:"result_base64,omitempty"` // where it is neither
	ContentType   string          `json:"content_type,omitempty"`
	Failure       *abi.Failure    `json:"failure,omitempty"`
	DelayMS       *int64          `json:"delay_ms,omitempty"`
	ConsumeBudget *bool           `json:"consume_budget,omitempty"`
	Cause         string          `json:"cause,omitempty"`
	DurationMS    float64         `json:"duration_ms"`
	StartupMS     float64         `json:"startup_ms"`
	PeakMemory    int64           `json:"peak_memory"` // bytes
	Fuel          int64           `json:"fuel,omitempty"`
	HostCalls     int64           `json:"host_calls"`
	LogBytes      int64           `json:"log_bytes"`
	LogDropped    int64           `json:"log_dropped"` // lines
	Stdout        string          `json:"stdout,omitempty"`
	Stderr        string          `json:"stderr,omitempty"`
	Warnings      []string        `json:"warnings,omitempty"`
}

func printOutcomeJSON(w io.Writer, o host.Outcome) error {
	u := o.Usage
	j := outcomeJSON{
		Outcome: outcomeNames[o.Kind], ContentType: o.ContentType, Failure: o.Failure,
		DurationMS: milliseconds(u.Duration), StartupMS: milliseconds(u.Startup), PeakMemory: u.PeakMemory, Fuel: u.Fuel,
		HostCalls: u.HostCalls, LogBytes: u.LogBytes, LogDropped: u.LogDropped, Stdout: o.Stdout, Stderr: o.Stderr, Warnings: o.Warnings,
	}
	switch o.Kind {
	case host.Succeeded:
		j.setResult(o.Result, o.ContentType)
	case host.RetryAfter, host.Snoozed:
		ms := o.Delay.Milliseconds()
		j.DelayMS = &ms
		if o.Kind == host.RetryAfter {
			j.ConsumeBudget = &o.ConsumeBudget
		}
	case host.Stopped:
		j.Cause = causeText(o.Cause)
	}
	return printJSON(w, j)
}

func (j *outcomeJSON) setResult(result []byte, contentType string) {
	switch {
	case result == nil:
		j.Result = json.RawMessage("null")
	case isJSON(contentType) && json.Valid(result):
		j.Result = result
	case utf8.Valid(result):
		s := string(result)
		j.ResultText = &s
	default:
		s := base64.StdEncoding.EncodeToString(result)
		j.ResultBase64 = &s
	}
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return contentType == "" || err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func causeText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// printOutcome tells an outcome to people.
func printOutcome(w io.Writer, o host.Outcome) error {
	t := newTable(w)
	t.limit = 0
	t.row("outcome", outcomeNames[o.Kind])
	switch o.Kind {
	case host.Succeeded:
		t.row("result", resultText(o.Result, o.ContentType))
	case host.Failed:
		failureRows(t, o.Failure)
	case host.Snoozed:
		t.row("delay", config.FormatDuration(o.Delay))
	case host.RetryAfter:
		t.row("delay", fmt.Sprintf("%s, %s", config.FormatDuration(o.Delay), spent(o.ConsumeBudget)))
	case host.Stopped:
		t.row("cause", causeText(o.Cause))
	}
	u := o.Usage
	t.row("duration", fmt.Sprintf("%v, of it startup %v", u.Duration.Round(time.Microsecond), u.Startup.Round(time.Microsecond)))
	t.row("memory", fmt.Sprintf("%.1f MiB at its peak", float64(u.PeakMemory)/(1<<20)))
	t.row("host calls", fmt.Sprint(u.HostCalls))
	if u.Fuel > 0 {
		t.row("fuel", fmt.Sprint(u.Fuel))
	}
	if u.LogDropped > 0 {
		t.row("logs", fmt.Sprintf("%d lines were dropped", u.LogDropped))
	}
	for _, warning := range o.Warnings {
		t.row("warning", warning)
	}
	return errors.Join(t.flush(), printBlock(w, "stdout", o.Stdout), printBlock(w, "stderr", o.Stderr), printStack(w, o.Failure))
}

func spent(consume bool) string {
	if consume {
		return "the attempt is spent"
	}
	return "the attempt is given back"
}

func resultText(result []byte, contentType string) string {
	switch {
	case result == nil:
		return "null"
	case utf8.Valid(result):
		return string(result)
	}
	return fmt.Sprintf("%d bytes of %s", len(result), contentType)
}

func failureRows(t *table, f *abi.Failure) {
	t.row("class", strings.Join(append([]string{f.Class}, f.Ancestors...), " < "))
	t.row("message", f.Message)
	t.row("origin", string(f.Origin))
	if f.Trap != "" {
		t.row("trap", f.Trap)
	}
	if f.ExitCode != nil {
		t.row("exit code", fmt.Sprint(*f.ExitCode))
	}
	if flags := failureFlags(f); flags != "" {
		t.row("flags", flags)
	}
	if f.HTTP != nil && f.HTTP.Status != 0 {
		t.row("http status", fmt.Sprint(f.HTTP.Status))
	}
	for cause := f.Cause; cause != nil; cause = cause.Cause {
		t.row("caused by", cause.Class+": "+cause.Message)
	}
}

func failureFlags(f *abi.Failure) string {
	var flags []string
	add := func(name string, set bool) {
		if set {
			flags = append(flags, name)
		}
	}
	add("permanent", f.Permanent)
	add("retryable", f.Retryable)
	add("timed_out", f.TimedOut)
	add("pre_actor", f.PreActor)
	return strings.Join(flags, ", ")
}

func printStack(w io.Writer, f *abi.Failure) error {
	if f == nil {
		return nil
	}
	return printBlock(w, "stack", f.Stack)
}

// printBlock prints a text of several lines, indented below its name.
func printBlock(w io.Writer, name, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var b strings.Builder
	b.WriteString(name + ":\n")
	for line := range strings.Lines(text) {
		b.WriteString("  " + oneLine(strings.ReplaceAll(line, "\t", "    ")) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
