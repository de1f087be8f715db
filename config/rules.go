package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/retry"
)

// crossChecks are the rules between keys, which only the merged whole can
// break. Those whose keys were refused already are left out: their complaint
// would be about a value that nobody wrote.
func (c *Config) crossChecks(earlier Errors) Errors {
	var out Errors
	if !earlier.touch("lease.") {
		out = append(out, c.leaseProblems()...)
	}
	if !earlier.touch("host.") {
		out = append(out, c.hostProblems()...)
	}
	if !earlier.touch("retry.") && !earlier.touch("retry") {
		out = append(out, c.policyProblems()...)
	}
	return out
}

// touch reports whether a problem is about a key below section.
func (ps Errors) touch(section string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool {
		return strings.HasPrefix(p.Path, section) || strings.Contains(p.Path, "."+section)
	})
}

func (c *Config) problem(p path, broken string) Problem {
	return Problem{Path: p.String(), Rule: broken, Where: c.origins[p.key()]}
}

// shortestLease is how long a lease must be to outlive the failures that a
// worker is allowed, each of which lasts an interval and a timeout.
func (l Lease) shortestLease() time.Duration {
	return max(l.HeartbeatInterval, l.HeartbeatCommandTimeout) +
		time.Duration(l.MaxHeartbeatFailures+1)*(l.HeartbeatInterval+l.HeartbeatCommandTimeout)
}

// shortestHeartbeatTimeout is the least silence that proves anything.
func (l Lease) shortestHeartbeatTimeout() time.Duration {
	return l.HeartbeatInterval + 2*l.HeartbeatCommandTimeout
}

const leaseFormula = "max(heartbeat_interval, heartbeat_command_timeout) + (max_heartbeat_failures + 1) × (heartbeat_interval + heartbeat_command_timeout)"

func (c *Config) leaseProblems() (out Errors) {
	shortest, silence := c.Lease.shortestLease(), c.Lease.shortestHeartbeatTimeout()
	for _, joined := range slices.Sorted(maps.Keys(c.leaves)) {
		p := path(strings.Split(joined, sep))
		d, isDuration := c.leaves[joined].(time.Duration)
		if !isDuration || len(p) < 2 {
			continue
		}
		switch end := strings.Join(p[len(p)-2:], "."); {
		case (end == "lease.lock_lease" || end == "execution.lease") && d < shortest:
			out = append(out, c.problem(p, "must be >= "+FormatDuration(shortest)+", which is "+leaseFormula))
		case end == "execution.heartbeat_timeout" && d > 0 && d < silence:
			out = append(out, c.problem(p, "must be >= "+FormatDuration(silence)+", which is heartbeat_interval + 2 × heartbeat_command_timeout"))
		}
	}
	return out
}

func (c *Config) hostProblems() Errors {
	out := problemsOf(c.Host.RetrySettings().Validate("host"))
	for i := range out {
		out[i].Where = c.origins[path(strings.Split(out[i].Path, ".")).key()]
	}
	return out
}

// problemsOf takes the rules that retry found broken apart.
func problemsOf(err error) (out Errors) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, problemsOf(e)...)
		}
		return out
	}
	if broken := (*retry.PolicyError)(nil); errors.As(err, &broken) {
		return Errors{{Path: broken.Path, Rule: broken.Rule}}
	}
	if err != nil {
		return Errors{{Rule: err.Error()}}
	}
	return nil
}

// policyProblems checks base and cap, the only pair of a policy's keys with a
// rule between them, for each block over each stack that it may lie on. A
// block that says neither, or both, can't break the rule of another.
func (c *Config) policyProblems() (out Errors) {
	c.layers.each(func(b *policyLayer, stacks [][]*policyLayer) {
		if b.Retry.Base == nil && b.Retry.Cap == nil {
			return
		}
		for _, stack := range stacks {
			merged := mergedPolicy(append(slices.Clone(stack), b))
			if merged.Cap >= merged.Base {
				continue
			}
			p := capProblem(b.origin.at.with("retry").String(), b.Retry, merged)
			key := p.Path[strings.LastIndexByte(p.Path, '.')+1:]
			p.Where = c.origins[b.origin.at.with("retry", key).key()]
			out = append(out, p)
			return
		}
	})
	return out
}

func mergedPolicy(stack []*policyLayer) retry.Policy {
	r := Resolved{Retry: retry.Default()}
	for _, b := range stack {
		if b != nil {
			r.apply(b.Patch, b.origin)
		}
	}
	return r.Retry
}

// each calls f for every block, in order of its path, with stacks of blocks
// that may lie below it. The first stack is the nearest to what the file
// shows. Of all the queues that a tenant's or an actor's block may meet, only
// those with the longest base and the shortest cap are among them: where these
// hold, the others do, and a check of each pair would take minutes for a file
// with thousands of both.
func (ls *layers) each(f func(b *policyLayer, stacks [][]*policyLayer)) {
	f(ls.defaults, [][]*policyLayer{nil})
	for _, q := range slices.Sorted(maps.Keys(ls.queues)) {
		f(ls.queues[q], [][]*policyLayer{{ls.defaults}})
	}
	host := ls.extremes()
	for _, name := range slices.Sorted(maps.Keys(ls.tenants)) {
		t := ls.tenants[name]
		below, beside := [][]*policyLayer{{ls.defaults}}, [][]*policyLayer{{ls.defaults, t.defaults}}
		for _, queues := range host {
			if len(queues) > 0 {
				below = append(below, []*policyLayer{ls.defaults, ls.queues[queues[0]]})
			}
			notOwn := func(q string) bool { return t.queues[q] == nil }
			if i := slices.IndexFunc(queues, notOwn); i >= 0 {
				beside = append(beside, []*policyLayer{ls.defaults, ls.queues[queues[i]], t.defaults})
			}
		}
		f(t.defaults, below)
		own := make([][]*policyLayer, 0, len(t.queues))
		for _, q := range slices.Sorted(maps.Keys(t.queues)) {
			stack := []*policyLayer{ls.defaults, ls.queues[q], t.defaults}
			f(t.queues[q], [][]*policyLayer{stack})
			own = append(own, append(stack, t.queues[q]))
		}
		if len(own) > 0 && len(t.actors) > 0 {
			beside = append(beside, slices.MaxFunc(own, byBase), slices.MinFunc(own, byCap))
		}
		for _, a := range slices.Sorted(maps.Keys(t.actors)) {
			f(t.actors[a], beside)
		}
	}
}

// extremes are the host's queues twice: longest base first, shortest cap first.
func (ls *layers) extremes() [2][]string {
	names := slices.Sorted(maps.Keys(ls.queues))
	by := func(compare func(a, b []*policyLayer) int) []string {
		return slices.SortedStableFunc(slices.Values(names), func(a, b string) int {
			return compare([]*policyLayer{ls.defaults, ls.queues[a]}, []*policyLayer{ls.defaults, ls.queues[b]})
		})
	}
	return [2][]string{by(func(a, b []*policyLayer) int { return byBase(b, a) }), by(byCap)}
}

func byBase(a, b []*policyLayer) int { return cmp.Compare(mergedPolicy(a).Base, mergedPolicy(b).Base) }
func byCap(a, b []*policyLayer) int  { return cmp.Compare(mergedPolicy(a).Cap, mergedPolicy(b).Cap) }

// policyWarnings are the settings of policies that are legal and may surprise,
// at the blocks that say them.
func (c *Config) policyWarnings() (out []string) {
	c.layers.each(func(b *policyLayer, stacks [][]*policyLayer) {
		if b.Retry.Kind == nil && b.Retry.TimeBudget == nil {
			return
		}
		for _, w := range mergedPolicy(append(slices.Clone(stacks[0]), b)).Warnings(false) {
			out = append(out, b.origin.at.with("retry").String()+": "+w)
		}
	})
	return out
}
