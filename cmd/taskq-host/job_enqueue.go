package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/client"
	"github.com/taskq-host/taskq-host/config"
)

// order is what "job enqueue" was asked for, as text.
type order struct {
	payload, input, contentType                                         string
	queue, delay, scheduledAt, scheduleToClose, startToClose, resultTTL string
	priority, version                                                   int
	headers, tags                                                       []string
	metadata                                                            string
	kind, backoff, base, limit, budget                                  string
	maxAttempts                                                         int
	multiplier, jitter                                                  float64
	wait, asJSON                                                        bool
}

func newJobEnqueue() *cobra.Command {
	o := &order{}
	cmd := &cobra.Command{
		Use:   "enqueue <actor>",
		Short: "Enqueue a job",
		Long: `Enqueue a job and print its id. What isn't said is the actor's and the queue's
to decide. With --wait the command stays until the job has ended, prints the
result, and its exit code is 0 only if the job succeeded.`,
		Args: exactly("actor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := o.job(cmd, args[0])
			if err != nil {
				return err
			}
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			return o.enqueue(cmd, c, job)
		},
	}
	o.flags(cmd.Flags())
	addServerFlags(cmd)
	addJSONFlag(cmd, &o.asJSON)
	return cmd
}

func (o *order) flags(f *pflag.FlagSet) {
	f.StringVar(&o.payload, "payload", "", "the payload, JSON")
	f.StringVar(&o.input, "input", "", "`file` with the payload, - for stdin")
	f.StringVar(&o.contentType, "content-type", "application/json", "of the payload")
	f.StringVar(&o.queue, "queue", "", "queue (default: the actor's, else default)")
	f.IntVar(&o.priority, "priority", 5, "0 to 9, 0 is first")
	f.StringVar(&o.delay, "delay", "", "not before so long from now: 15m, 2d")
	f.StringVar(&o.scheduledAt, "scheduled-at", "", "not before: 2031-01-02T03:04:05Z")
	f.StringVar(&o.scheduleToClose, "schedule-to-close", "", "deadline of the whole job: a duration, or a time with a zone")
	f.StringVar(&o.startToClose, "start-to-close", "", "time limit of one attempt")
	f.IntVar(&o.maxAttempts, "max-attempts", 0, "executions, the first included")
	f.StringVar(&o.kind, "retry-kind", "", "transient, indefinite or non_retryable")
	f.StringVar(&o.backoff, "backoff", "", "exponential, linear or fixed")
	f.StringVar(&o.base, "base", "", "delay after the first failure")
	f.Float64Var(&o.multiplier, "multiplier", 0, "of an exponential backoff")
	f.StringVar(&o.limit, "cap", "", "the longest delay")
	f.Float64Var(&o.jitter, "jitter", 0, "0 to 1")
	f.StringVar(&o.budget, "time-budget", "", "deadline of a job that is retried indefinitely")
	f.IntVar(&o.version, "version", 0, "the actor's version that it is made for")
	f.StringArrayVar(&o.headers, "header", nil, "for the guest and for tracing; may be repeated (`key=value`)")
	f.StringArrayVar(&o.tags, "tag", nil, "to find it by; may be repeated")
	f.StringVar(&o.metadata, "metadata", "", "a JSON object for people and tools")
	f.StringVar(&o.resultTTL, "result-ttl", "", "how long the job is kept once it succeeded")
	f.BoolVar(&o.wait, "wait", false, "stay until the job has ended")
}

// job checks what was said here and can be checked without the host; the host
// checks the rest.
func (o *order) job(cmd *cobra.Command, actor string) (client.NewJob, error) {
	j := client.NewJob{Actor: actor, Queue: o.queue, Tags: o.tags, Version: o.version}
	said := cmd.Flags().Changed
	if said("priority") {
		j.Priority = &o.priority
	}
	var err error
	times := &timeFlags{said: said}
	j.Delay = times.span("delay", o.delay, true)
	j.ScheduledAt = times.moment("scheduled-at", o.scheduledAt)
	j.StartToClose = times.span("start-to-close", o.startToClose, false)
	j.ResultTTL = times.span("result-ttl", o.resultTTL, false)
	if strings.Contains(o.scheduleToClose, "T") {
		j.Deadline = times.moment("schedule-to-close", o.scheduleToClose)
	} else {
		j.ScheduleToClose = times.span("schedule-to-close", o.scheduleToClose, false)
	}
	if j.Retry, err = o.retry(said, times); err != nil {
		return j, err
	}
	if said("version") && o.version < 1 {
		return j, badInputf("--version", "must be at least 1")
	}
	if said("delay") && said("scheduled-at") {
		return j, badInputf("--delay", "and --scheduled-at exclude each other")
	}
	if j.Headers, err = pairs("--header", o.headers); err != nil {
		return j, err
	}
	if o.metadata != "" {
		if err := json.Unmarshal([]byte(o.metadata), &j.Metadata); err != nil {
			return j, badInputf("--metadata", "isn't a JSON object")
		}
	}
	return j, errors.Join(times.err, o.setPayload(cmd, &j))
}

// mostPayload is what a queue's limits.max_payload can allow. What it does
// allow is the host's to say.
const mostPayload = 64 << 20

func (o *order) setPayload(cmd *cobra.Command, j *client.NewJob) error {
	payload := []byte(o.payload)
	switch said := cmd.Flags().Changed; {
	case said("payload") && said("input"):
		return badInputf("--payload", "and --input exclude each other")
	case said("input"):
		var err error
		if payload, err = readInput(cmd, "--input", o.input, mostPayload); err != nil {
			return err
		}
	case !said("payload"):
		return nil
	}
	if !isJSON(o.contentType) {
		j.PayloadBytes, j.ContentType = payload, o.contentType
		return nil
	}
	if !json.Valid(payload) {
		return badInputf("payload", "isn't JSON; say what it is with --content-type")
	}
	j.Payload, j.ContentType = json.RawMessage(payload), o.contentType
	return nil
}

var retryFlags = []string{"max-attempts", "retry-kind", "backoff", "base", "multiplier", "cap", "jitter", "time-budget"}

// retry reads the policy's flags; nil where none was given.
func (o *order) retry(said func(string) bool, times *timeFlags) (*client.Retry, error) {
	if !slices.ContainsFunc(retryFlags, said) {
		return nil, nil //nolint:nilnil // no policy is what was asked for
	}
	if said("max-attempts") && (o.maxAttempts < 1 || o.maxAttempts > abi.MaxMaxAttempts) {
		return nil, badInputf("--max-attempts", "%d isn't 1 to %d", o.maxAttempts, abi.MaxMaxAttempts)
	}
	if said("multiplier") && o.multiplier < 1 {
		return nil, badInputf("--multiplier", "%v isn't at least 1", o.multiplier)
	}
	r := &client.Retry{
		Kind: o.kind, MaxAttempts: o.maxAttempts, Backoff: o.backoff, Multiplier: o.multiplier,
		Base: times.span("base", o.base, false), Cap: times.span("cap", o.limit, false), TimeBudget: times.span("time-budget", o.budget, false),
	}
	if said("jitter") {
		r.Jitter = &o.jitter
	}
	return r, nil
}

// timeFlags reads flags that hold times and keeps the first error.
type timeFlags struct {
	said func(string) bool
	err  error
}

func (t *timeFlags) span(flag, text string, zero bool) time.Duration {
	if !t.said(flag) {
		return 0
	}
	d, err := config.ParseDuration(text)
	if (err != nil || d < 0 || d == 0 && !zero) && t.err == nil {
		t.err = badInputf("--"+flag, "%q isn't a duration above 0, such as 500ms, 5m, 2d", text)
	}
	return d
}

func (t *timeFlags) moment(flag, text string) time.Time {
	if !t.said(flag) {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && t.err == nil {
		t.err = badInputf("--"+flag, "%q isn't a time with a zone, such as 2031-01-02T03:04:05Z", text)
	}
	return at
}

func pairs(flag string, said []string) (map[string]string, error) {
	if len(said) == 0 {
		return nil, nil //nolint:nilnil // nothing was said
	}
	m := make(map[string]string, len(said))
	for _, pair := range said {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, badInputf(flag, "%q isn't key=value", pair)
		}
		m[key] = value
	}
	return m, nil
}

func (o *order) enqueue(cmd *cobra.Command, c *client.Client, job client.NewJob) error {
	stored, err := c.Enqueue(cmd.Context(), job)
	if err != nil {
		return apiError("enqueue", err)
	}
	for _, warning := range stored.Warnings {
		say(cmd.ErrOrStderr(), "taskq-host: warning: %s\n", oneLine(warning))
	}
	switch {
	case o.wait:
		return o.await(cmd, c, stored.ID)
	case o.asJSON:
		return printJSON(cmd.OutOrStdout(), stored)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), stored.ID)
	return err
}

func (o *order) await(cmd *cobra.Command, c *client.Client, id string) error {
	if !o.asJSON {
		say(cmd.ErrOrStderr(), "job %s\n", id)
	}
	j, err := c.Wait(cmd.Context(), id)
	if err != nil {
		return apiError("job "+id, err)
	}
	if o.asJSON {
		err = printJSON(cmd.OutOrStdout(), j)
	} else {
		err = printEnd(cmd.OutOrStdout(), j)
	}
	return endCode(j, err)
}
