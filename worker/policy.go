package worker

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

// resolve gives how a job is run: the configuration of its place, with what
// its enqueue said on top, corrected where that no longer holds; and what was
// corrected of the enqueue.
func (w *Worker) resolve(j *store.Claimed, tenant, queue string, says config.Patch) (r config.Resolved, adjusted []string) {
	r = w.config.Current().Resolve(config.Lookup{Tenant: tenant, Queue: queue, Actor: j.Actor, Description: says})
	patch, ok := enqueuePatch(&j.Options)
	if !ok {
		return r, nil
	}
	before := len(r.Adjusted)
	r = r.Adjust(patch)
	adjusted = r.Adjusted[before:]
	for _, what := range adjusted {
		w.log.Warn(eventAdjusted, "tenant", tenant, "job", j.ID, "actor", j.Actor, "what", what)
	}
	return r, adjusted
}

// Events that aren't ends.
const (
	eventAdjusted = "policy_adjusted"
	eventUndated  = "indefinite_without_deadline"
)

// tellAdjusted puts what was corrected beside the attempt's end, unless the
// job has an event that says the same.
func tellAdjusted(e *store.Ending, extra store.Extra, adjusted []string) {
	what := strings.Join(adjusted, "; ")
	if what == "" || what == extra.Adjusted {
		return
	}
	e.Events = append(e.Events, store.NewEvent{Event: eventAdjusted, Facts: map[string][]string{"adjusted": adjusted}})
	if e.Extra == nil {
		e.Extra = &extra
	}
	e.Extra.Adjusted = what
}

// enqueuePatch reads what the enqueue overrode; it was checked at the door.
func enqueuePatch(o *store.JobOptions) (config.Patch, bool) {
	var p config.Patch
	said := len(o.Retry) > 0 && json.Unmarshal(o.Retry, &p.Retry) == nil
	if o.StartToCloseMS > 0 {
		d := time.Duration(o.StartToCloseMS) * time.Millisecond
		p.StartToClose = &d
		said = true
	}
	return p, said
}

// forever is how long a job is kept that nothing is to remove.
const forever = 100 * 365 * 24 * time.Hour

func keepFor(d time.Duration) time.Duration {
	if d == 0 {
		return forever
	}
	return d
}
