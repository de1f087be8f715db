package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// door is one request's enqueues: what their places resolve to is asked for
// once a place, under one configuration.
type door struct {
	s      *Server
	tenant store.Tenant
	config *config.Config
	places map[place]config.Resolved
}

type place struct{ queue, actor string }

func (s *Server) door(tenant store.Tenant) *door {
	return &door{s: s, tenant: tenant, config: s.config.Current(), places: map[place]config.Resolved{}}
}

// defaultQueue is where jobs go of which nobody says where.
const defaultQueue = store.DefaultQueue

// admit makes a job of a draft that has no faults yet: the rest of the rules
// need to know its place. The error is the store's; the draft has the faults.
func (o *door) admit(ctx context.Context, d *draft) (warnings []string, err error) {
	if d.job.Queue == "" {
		if d.job.Queue = o.config.Tenants[o.tenant.Name].Actors[d.job.Actor].Queue; d.job.Queue == "" {
			d.job.Queue = defaultQueue
		}
	}
	base, err := o.resolve(ctx, place{d.job.Queue, d.job.Actor})
	if err != nil {
		return nil, err
	}
	if int64(len(d.payload)) > int64(base.MaxPayload) {
		field := "payload"
		if d.given["payload_base64"] {
			field = "payload_base64"
		}
		d.faults = append(d.faults, fault{tooLarge(field, int64(base.MaxPayload)).Errors[0], http.StatusRequestEntityTooLarge})
	}
	resolved, err := base.Override("", d.patch)
	if err != nil {
		d.faults = append(d.faults, configFaults(err)...)
		return nil, nil
	}
	d.setDeadline(resolved.Retry)
	d.job.Delay, d.job.ScheduledAt = d.delay.after, d.delay.at
	if d.surelyLate() {
		d.late(time.Now())
	}
	if err := d.setOptions(); err != nil {
		return nil, err
	}
	warnings = resolved.Adjusted[len(base.Adjusted):]
	if !d.patch.Retry.IsZero() {
		warnings = append(warnings, resolved.Retry.Warnings(d.given["schedule_to_close"])...)
	}
	return warnings, nil
}

func (o *door) resolve(ctx context.Context, at place) (config.Resolved, error) {
	if r, ok := o.places[at]; ok {
		return r, nil
	}
	description, err := o.s.catalog.Description(ctx, o.tenant, at.actor)
	if err != nil {
		return config.Resolved{}, err
	}
	r := o.config.Resolve(config.Lookup{Tenant: o.tenant.Name, Queue: at.queue, Actor: at.actor, Description: description})
	o.places[at] = r
	return r, nil
}

// setDeadline stamps what was said, or an indefinite policy's budget. It
// doesn't move when the policy changes later.
func (d *draft) setDeadline(policy retry.Policy) {
	d.job.ScheduleToClose, d.job.Deadline = d.close.after, d.close.at
	d.job.StartBy, d.job.StartByAt = d.startBy.after, d.startBy.at
	if !d.given["schedule_to_close"] && policy.Kind == retry.Indefinite {
		d.job.ScheduleToClose = policy.TimeBudget
	}
}

// limit is a moment by which a job must be due, and the field that sets it.
type limit struct {
	moment
	field string
}

func (d *draft) limits() (out []limit) {
	j := &d.job
	switch {
	case d.given["schedule_to_close"]:
		out = append(out, limit{moment{j.ScheduleToClose, j.Deadline}, "schedule_to_close"})
	case j.ScheduleToClose > 0:
		out = append(out, limit{moment{j.ScheduleToClose, j.Deadline}, "retry.time_budget"})
	}
	if d.given["start_by"] {
		out = append(out, limit{d.startBy, "start_by"})
	}
	return out
}

// surelyLate finds what is past a limit whatever the database's clock says;
// the rest is for the database to find.
func (d *draft) surelyLate() bool {
	return slices.ContainsFunc(d.limits(), func(l limit) bool {
		switch {
		case !l.at.IsZero() && !d.delay.at.IsZero():
			return d.delay.at.After(l.at)
		case l.at.IsZero() && d.delay.at.IsZero():
			return d.delay.after > l.after
		}
		return false
	})
}

// lateAt is surelyLate once a moment of the database's clock is known.
func (d *draft) lateAt(now time.Time) bool {
	due := d.delay.from(now)
	return slices.ContainsFunc(d.limits(), func(l limit) bool { return due.After(l.from(now)) || now.After(l.from(now)) })
}

// from is the moment on a clock that shows now.
func (m moment) from(now time.Time) time.Time {
	if !m.at.IsZero() {
		return m.at
	}
	return now.Add(m.after)
}

// late names both fields: either may be the one that was meant otherwise. Of
// two limits it names the one that comes first.
func (d *draft) late(now time.Time) {
	first := slices.MinFunc(d.limits(), func(a, b limit) int { return a.from(now).Compare(b.from(now)) })
	field := "delay"
	if d.given["scheduled_at"] {
		field = "scheduled_at"
	}
	if !d.given[field] {
		d.fault(first.field, "is past already")
		return
	}
	d.fault(field, "lies past the deadline that "+first.field+" sets")
	d.fault(first.field, "ends before the time that "+field+" sets")
}

// setOptions keeps with the job what it wants otherwise, in canonical form.
func (d *draft) setOptions() error {
	o := &store.JobOptions{ScheduleToCloseMS: d.job.ScheduleToClose.Milliseconds(), ResultTTLMS: d.resultTTL.Milliseconds()}
	if d.patch.StartToClose != nil {
		o.StartToCloseMS = d.patch.StartToClose.Milliseconds()
	}
	if !d.patch.Retry.IsZero() {
		block, err := json.Marshal(d.patch.Retry)
		if err != nil {
			return fmt.Errorf("retry: %w", err)
		}
		o.Retry = block
	}
	d.job.Options = o
	return nil
}
