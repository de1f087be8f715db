package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/taskq-host/taskq-host/client"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/plugins"
)

// demoJob is a job of a manifest that was enqueued.
type demoJob struct {
	actor *plugins.Plugin
	job   *plugins.Job
	id    string
}

// pushing is how many modules are pushed at once: most of it is compiling.
const pushing = 4

func pushExamples(ctx context.Context, cmd *cobra.Command, c *client.Client, actors []plugins.Plugin) error {
	progress := newBar(cmd.ErrOrStderr(), "push", int64(len(actors)))
	defer progress.clear()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pushing)
	for _, a := range actors {
		group.Go(func() error {
			if _, err := c.Push(ctx, a.Actor, a.Module, client.PushOptions{}); err != nil {
				return apiError("push "+a.Actor, err)
			}
			progress.add(1)
			return nil
		})
	}
	return group.Wait()
}

func enqueueExamples(ctx context.Context, c *client.Client, actors []plugins.Plugin) ([]demoJob, error) {
	var jobs []demoJob
	var batch []client.NewJob
	for i := range actors {
		for k := range actors[i].Jobs {
			j := demoJob{actor: &actors[i], job: &actors[i].Jobs[k]}
			spec, err := j.spec()
			if err != nil {
				return nil, failed(j.name(), err)
			}
			jobs, batch = append(jobs, j), append(batch, spec)
		}
	}
	stored, err := c.EnqueueMany(ctx, batch, client.EnqueueManyOptions{Atomic: true})
	if err != nil {
		return nil, apiError("enqueue", err)
	}
	for i, r := range stored.Results {
		jobs[i].id = r.Job.ID
	}
	return jobs, nil
}

func (j *demoJob) name() string { return j.actor.Actor + " " + j.job.Case }

// spec is the job as the client takes it.
func (j *demoJob) spec() (client.NewJob, error) {
	spec := client.NewJob{Actor: j.actor.Actor, Tags: []string{"demo"}}
	if isJSON(j.job.ContentType) {
		spec.Payload = j.job.Payload
	} else {
		var text string
		if err := json.Unmarshal(j.job.Payload, &text); err != nil {
			return spec, fmt.Errorf("payload: of %s it must be a string: %w", j.job.ContentType, err)
		}
		spec.PayloadBytes, spec.ContentType = []byte(text), j.job.ContentType
	}
	if s := j.job.Enqueue.StartToClose; s != "" {
		var err error
		if spec.StartToClose, err = config.ParseDuration(s); err != nil {
			return spec, fmt.Errorf("start_to_close: %w", err)
		}
	}
	var err error
	spec.Retry, err = retryOf(j.job.Enqueue.Retry)
	return spec, err
}

// retryOf is a retry block as the client takes it.
func retryOf(block json.RawMessage) (*client.Retry, error) {
	p, err := config.DecodeRetryJSON("retry", block)
	if err != nil || p.IsZero() {
		return nil, err
	}
	r := &client.Retry{
		MaxAttempts: or(p.MaxAttempts), TimeBudget: or(p.TimeBudget), Base: or(p.Base), Multiplier: or(p.Multiplier), Cap: or(p.Cap), Jitter: p.Jitter,
		Kind: string(or(p.Kind)), Backoff: string(or(p.Backoff)),
	}
	return r, nil
}

// or is what p points to, else the zero value.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// demoEnd is how a job of the demo ended: what --json prints.
type demoEnd struct {
	Actor      string   `json:"actor"`
	Language   string   `json:"language"`
	Case       string   `json:"case"`
	JobID      string   `json:"job_id"`
	Status     string   `json:"status"`
	Attempt    int      `json:"attempt"`
	ErrorClass string   `json:"error_class"`
	Ancestors  []string `json:"ancestors"`
	Message    string   `json:"message"`
	DecidedBy  string   `json:"decided_by"`
	DurationMS int64    `json:"duration_ms"` // from the enqueue to the end
}

// settle waits for all jobs at once, tells each as it ends, and answers where
// they ended otherwise than their manifests say.
func settle(ctx context.Context, c *client.Client, jobs []demoJob, out *screen) []string {
	var mu sync.Mutex
	var differences []string
	var waiting sync.WaitGroup
	for _, j := range jobs {
		waiting.Go(func() {
			end, err := j.ending(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				differences = append(differences, j.name()+": "+err.Error())
				return
			}
			wrong := j.job.Expect.Differences(plugins.Ending{
				Status: end.Status, Attempt: end.Attempt, ErrorClass: end.ErrorClass, Ancestors: end.Ancestors, Message: end.Message, DecidedBy: end.DecidedBy,
			})
			out.show(end, len(wrong) == 0)
			for _, d := range wrong {
				differences = append(differences, j.name()+": "+d)
			}
		})
	}
	waiting.Wait()
	return differences
}

func (j *demoJob) ending(ctx context.Context, c *client.Client) (*demoEnd, error) {
	job, err := c.Wait(ctx, j.id)
	if err != nil {
		return nil, err
	}
	end := &demoEnd{
		Actor: j.actor.Actor, Language: j.actor.Language, Case: j.job.Case, JobID: j.id, Status: job.Status, Attempt: job.Attempt, Ancestors: []string{},
	}
	if job.FinishedAt != nil {
		end.DurationMS = job.FinishedAt.Sub(job.CreatedAt).Milliseconds()
	}
	if job.Status == "succeeded" {
		return end, nil // of earlier failures its attempts tell
	}
	end.ErrorClass, end.Message, end.DecidedBy = job.ErrorClass, job.Message, job.DecidedBy
	attempts, err := c.Attempts(ctx, j.id)
	if err != nil {
		return nil, err
	}
	if last := len(attempts) - 1; last >= 0 {
		end.Ancestors = orEmpty(attempts[last].Ancestors)
	}
	return end, nil
}

// took is a duration for people.
func took(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).String()
}
