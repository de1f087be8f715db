package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/store"
)

// EnqueuedJob is a job that was stored.
type EnqueuedJob struct {
	ID        string    `json:"id" format:"uuid"`
	Status    string    `json:"status" enum:"pending,scheduled"`
	Queue     string    `json:"queue"`
	CreatedAt time.Time `json:"created_at"`
	DueAt     time.Time `json:"due_at"`
	Warnings  []string  `json:"warnings,omitempty" doc:"What was asked for and cut down to what is allowed, and what may surprise."`
}

type enqueueInput struct {
	IdempotencyKey string `header:"Idempotency-Key" hidden:"true"`
}

type enqueueOutput struct {
	Location string `header:"Location"`
	Body     EnqueuedJob
}

// refuseKey keeps a client from believing that its repeated request counts once.
func (in *enqueueInput) refuseKey() error {
	if in.IdempotencyKey != "" {
		return invalid("header.Idempotency-Key", ruleNotOffered)
	}
	return nil
}

func (s *Server) enqueue(ctx context.Context, in *enqueueInput) (*enqueueOutput, error) {
	if err := in.refuseKey(); err != nil {
		return nil, err
	}
	body := bodyOf(ctx)
	if err := checkJSON(body); err != nil {
		return nil, notJSON(err)
	}
	tenant := callerOf(ctx).Tenant
	d := readDraft(body)
	var warnings []string
	if len(d.faults) == 0 {
		var err error
		if warnings, err = s.door(tenant).admit(ctx, d); err != nil {
			return nil, s.answer(ctx, err)
		}
	}
	if len(d.faults) > 0 {
		return nil, refused(d.faultsUnder("body"))
	}
	stored, err := s.store.Enqueue(ctx, tenant, []store.NewJob{d.job})
	if late := new(store.LateError); errors.As(err, &late) {
		d.late(late.Now)
		return nil, refused(d.faultsUnder("body"))
	}
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	if stored[0].Status == store.Pending {
		s.wakeups.wake(d.job.Queue)
	}
	return &enqueueOutput{Location: "/v1/jobs/" + stored[0].ID.String(), Body: d.enqueued(stored[0], warnings)}, nil
}

func (d *draft) enqueued(e store.Enqueued, warnings []string) EnqueuedJob {
	return EnqueuedJob{ID: e.ID.String(), Status: e.Status.String(), Queue: d.job.Queue, CreatedAt: e.CreatedAt, DueAt: e.DueAt, Warnings: warnings}
}

func (d *draft) faultsUnder(prefix string) []fault {
	out := make([]fault, len(d.faults))
	for i, f := range d.faults {
		out[i] = f.under(prefix)
	}
	return out
}

func notJSON(err error) *Problem {
	return problem(http.StatusBadRequest, "the body can't be read", FieldError{Location: "body", Rule: err.Error()})
}

// maxBatch is how many jobs one request may bring.
const maxBatch = abi.MaxBatch
