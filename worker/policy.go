package worker

import (
	"encoding/json"
	"time"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

// resolve gives how a job is run: the configuration of its place, with what
// its enqueue said on top, corrected where that no longer holds.
func (w *Worker) resolve(j *store.Claimed, tenant, queue string, says config.Patch) config.Resolved {
	r := w.config.Current().Resolve(config.Lookup{Tenant: tenant, Queue: queue, Actor: j.Actor, Description: says})
	patch, ok := enqueuePatch(&j.Options)
	if !ok {
		return r
	}
	adjusted := r.Adjust(patch)
	for _, what := range adjusted.Adjusted {
		w.log.Warn("policy_adjusted", "tenant", tenant, "job", j.ID, "actor", j.Actor, "what", what)
	}
	return adjusted
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
