package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
	"github.com/taskq-host/taskq-host/config"
)

func newJobShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show <id>",
		Short: "Show a job with its attempts",
		Args:  exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			job, err := c.Get(cmd.Context(), args[0])
			if err != nil {
				return apiError("job "+args[0], err)
			}
			attempts, err := c.Attempts(cmd.Context(), args[0])
			if err != nil {
				return apiError("job "+args[0], err)
			}
			events, err := c.Events(cmd.Context(), args[0])
			if err != nil {
				return apiError("job "+args[0], err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					*client.Job
					Attempts []client.Attempt `json:"attempts"`
					Events   []client.Event   `json:"events"`
				}{job, orEmpty(attempts), orEmpty(events)})
			}
			return printJob(cmd.OutOrStdout(), job, attempts, events)
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func printJob(w io.Writer, j *client.Job, attempts []client.Attempt, events []client.Event) error {
	t := newTable(w)
	t.limit = 0
	jobRows(t, j)
	if err := t.flush(); err != nil {
		return err
	}
	if len(attempts) > 0 {
		say(w, "\n")
		t := newTable(w, "ATTEMPT", "OUTCOME", "STARTED", "TOOK", "NEXT IN", "DECIDED BY", "FAILURE")
		for _, a := range attempts {
			t.row(fmt.Sprint(a.Attempt), a.Outcome, timeText(&a.StartedAt), fmt.Sprintf("%dms", a.DurationMS), delayText(a.DelayMS), a.DecidedBy, failureText(a.ErrorClass, a.Message))
		}
		if err := t.flush(); err != nil {
			return err
		}
		if err := printBlock(w, "stack of the last one", attempts[len(attempts)-1].Stack); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		say(w, "\n")
		t := newTable(w, "EVENT", "AT", "FACTS")
		for _, e := range events {
			t.row(e.Event, timeText(&e.At), string(e.Facts))
		}
		return t.flush()
	}
	return nil
}

func jobRows(t *table, j *client.Job) {
	t.row("job", j.ID)
	t.row("status", j.Status)
	t.row("actor", j.Actor)
	t.row("queue", j.Queue)
	t.row("priority", fmt.Sprint(j.Priority))
	t.row("attempt", fmt.Sprint(j.Attempt))
	t.row("created", timeText(&j.CreatedAt))
	optional := func(name, value string) {
		if value != "" && value != "-" {
			t.row(name, value)
		}
	}
	optional("due", timeText(j.ScheduledAt))
	optional("because of", j.ScheduleReason)
	optional("deadline", timeText(j.Deadline))
	optional("started", timeText(j.StartedAt))
	optional("finished", timeText(j.FinishedAt))
	if j.Cancelling {
		t.row("cancelling", "its end was asked for")
	}
	optional("failure", failureText(j.ErrorClass, j.Message))
	optional("decided by", j.DecidedBy)
	optional("dead because", j.DeadReason)
	optional("payload", bodyText(j.Payload, j.PayloadBase64, j.ContentType))
	optional("result", bodyText(j.Result, j.ResultBase64, j.ResultContentType))
}

func bodyText(asJSON json.RawMessage, other []byte, contentType string) string {
	if len(asJSON) > 0 {
		return string(asJSON)
	}
	if other == nil {
		return ""
	}
	return resultText(other, contentType)
}

func delayText(ms *int64) string {
	if ms == nil {
		return ""
	}
	return config.FormatDuration(time.Duration(*ms) * time.Millisecond)
}

func newJobWatch() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch <id>",
		Short: "Follow a job until it has ended",
		Long: `Print a line for each change of a job until it has ended. The exit code is 0
only if it succeeded. --json prints the whole job, a line each time.`,
		Args: exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			return watch(cmd, c, args[0], asJSON)
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// A job is asked for soon after a change, then ever more rarely.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

func watch(cmd *cobra.Command, c *client.Client, id string, asJSON bool) error {
	ctx := cmd.Context()
	var seen string
	look := firstLook
	for {
		j, err := c.Get(ctx, id)
		var p *client.Problem
		busy := errors.As(err, &p) && p.RetryAfter > 0
		if err != nil && !busy {
			return apiError("job "+id, err)
		}
		if err == nil {
			if now := fmt.Sprint(j.Status, j.ClaimEpoch, j.Cancelling); now != seen {
				seen, look = now, firstLook
				if err := printChange(cmd.OutOrStdout(), j, asJSON); err != nil {
					return err
				}
			}
			if j.Ended() {
				return endCode(j, nil)
			}
		}
		select {
		case <-ctx.Done():
			return failed("job "+id, ctx.Err())
		case <-time.After(look):
			look = min(look*3/2, lastLook)
		}
	}
}

func printChange(w io.Writer, j *client.Job, asJSON bool) error {
	if asJSON {
		return printJSONLine(w, j)
	}
	if j.Ended() {
		return printEnd(w, j)
	}
	line := fmt.Sprintf("%s, attempt %d", j.Status, j.Attempt)
	if j.ScheduledAt != nil {
		line += fmt.Sprintf(", due %s (%s)", ago(j.ScheduledAt), j.ScheduleReason)
	}
	if f := failureText(j.ErrorClass, j.Message); f != "" {
		line += ", last failure " + f
	}
	_, err := fmt.Fprintln(w, oneLine(line))
	return err
}

// printEnd says in a line how a job ended.
func printEnd(w io.Writer, j *client.Job) error {
	line := fmt.Sprintf("%s, attempt %d", j.Status, j.Attempt)
	if f := failureText(j.ErrorClass, j.Message); f != "" && j.Status != "succeeded" {
		line += ", " + f
	}
	if j.DeadReason != "" {
		line += " (" + j.DeadReason + ")"
	}
	if _, err := fmt.Fprintln(w, oneLine(line)); err != nil {
		return err
	}
	if result := bodyText(j.Result, j.ResultBase64, j.ResultContentType); result != "" {
		_, err := fmt.Fprintln(w, "result "+oneLine(result))
		return err
	}
	return nil
}

// endCode is 0 for a job that succeeded, else 1.
func endCode(j *client.Job, err error) error {
	if err == nil && j.Status != "succeeded" {
		return quietly(exitFailed)
	}
	return err
}
