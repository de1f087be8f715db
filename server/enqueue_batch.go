package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskq-host/taskq-host/store"
)

// BatchResult says what became of each job of a batch, in its order.
type BatchResult struct {
	Accepted int         `json:"accepted" doc:"Jobs that were stored."`
	Refused  int         `json:"refused" doc:"Jobs that were not."`
	Results  []BatchItem `json:"results"`
}

// BatchItem is what became of one job: it was stored, or why not.
type BatchItem struct {
	Index int          `json:"index" doc:"Of the job in the request, from 0."`
	Job   *EnqueuedJob `json:"job,omitempty"`
	Error *Problem     `json:"error,omitempty"`
}

type batchOutput struct {
	Body BatchResult
}

// batch is the drafts of a request that is being read.
type batch struct {
	*door
	drafts   []*draft
	warnings [][]string
}

func (s *Server) enqueueBatch(ctx context.Context, in *enqueueInput) (*batchOutput, error) {
	if err := in.refuseKey(); err != nil {
		return nil, err
	}
	items, atomic, err := readBatch(bodyOf(ctx))
	if err != nil {
		return nil, err
	}
	b := &batch{door: s.door(callerOf(ctx).Tenant), drafts: make([]*draft, len(items)), warnings: make([][]string, len(items))}
	for i, item := range items {
		b.drafts[i] = readDraft(item)
		if len(b.drafts[i].faults) > 0 {
			continue
		}
		if b.warnings[i], err = b.admit(ctx, b.drafts[i]); err != nil {
			return nil, s.answer(ctx, err)
		}
	}
	stored, err := b.store(ctx, atomic)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	return &batchOutput{Body: b.result(stored)}, nil
}

// readBatch splits the body; the error is a *Problem.
func readBatch(body []byte) (items [][]byte, atomic bool, err error) {
	if err := checkJSON(body); err != nil {
		return nil, false, notJSON(err)
	}
	fields, err := members(body)
	if err != nil {
		return nil, false, invalid("body", err.Error())
	}
	rule := "is needed"
	for _, f := range fields {
		switch f.name {
		case "jobs":
			if items, err = elements(f.raw); err != nil {
				rule = err.Error()
			} else if rule = ""; len(items) == 0 || len(items) > maxBatch {
				rule = fmt.Sprintf("must be 1 to %d jobs", maxBatch)
			}
		case "atomic":
			if broken := readBool(f.raw, &atomic); broken != "" {
				return nil, false, invalid("body.atomic", broken)
			}
		default:
			return nil, false, invalid(join("body", placeName(f.name)), "isn't a field of a batch: jobs and atomic are")
		}
	}
	if rule != "" {
		return nil, false, invalid("body.jobs", rule)
	}
	return items, atomic, nil
}

// maxLateRounds bounds how often the database is asked again without the jobs
// that it found too late.
const maxLateRounds = 20

// store writes all drafts without faults in one statement. Atomic means that
// there may be none with. The answers are by the drafts' indexes.
func (b *batch) store(ctx context.Context, atomic bool) (map[int]store.Enqueued, error) {
	for range maxLateRounds {
		var jobs []store.NewJob
		var index []int
		for i, d := range b.drafts {
			if len(d.faults) == 0 {
				jobs, index = append(jobs, d.job), append(index, i)
			}
		}
		if atomic && len(jobs) < len(b.drafts) {
			return nil, b.refusedAll()
		}
		stored, err := b.s.store.Enqueue(ctx, b.tenant, jobs)
		if late := new(store.LateError); errors.As(err, &late) {
			b.setLate(index[late.Index], late)
			continue
		}
		if err != nil {
			return nil, err
		}
		out := make(map[int]store.Enqueued, len(stored))
		for i, e := range stored {
			out[index[i]] = e
		}
		b.wake(stored, index)
		return out, nil
	}
	return nil, b.refusedAll()
}

// setLate marks the job that the database found, and all others that are late
// at the same moment of its clock.
func (b *batch) setLate(found int, late *store.LateError) {
	now := late.Now
	b.drafts[found].late(now)
	for _, d := range b.drafts {
		if len(d.faults) == 0 && d.lateAt(now) {
			d.late(now)
		}
	}
}

func (b *batch) wake(stored []store.Enqueued, index []int) {
	for i, e := range stored {
		if e.Status == store.Pending {
			b.s.wakeups.wake(b.drafts[index[i]].job.Queue)
		}
	}
}

func (b *batch) refusedAll() *Problem {
	var faults []fault
	for i, d := range b.drafts {
		faults = append(faults, d.faultsUnder(fmt.Sprintf("body.jobs[%d]", i))...)
	}
	return refused(faults)
}

func (b *batch) result(stored map[int]store.Enqueued) BatchResult {
	r := BatchResult{Results: make([]BatchItem, len(b.drafts))}
	for i, d := range b.drafts {
		r.Results[i].Index = i
		if e, ok := stored[i]; ok {
			job := d.enqueued(e, b.warnings[i])
			r.Results[i].Job = &job
			r.Accepted++
			continue
		}
		r.Results[i].Error = refused(d.faultsUnder(fmt.Sprintf("body.jobs[%d]", i)))
		r.Refused++
	}
	return r
}
