package config

import (
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/retry"
)

// field is one key that Resolve resolves.
type field int

const (
	fieldKind field = iota
	fieldMaxAttempts
	fieldTimeBudget
	fieldBackoff
	fieldBase
	fieldMultiplier
	fieldCap
	fieldJitter
	fieldStartToClose
	fieldMaxPayload
	fieldTTLSucceeded
	fieldDLQRetention
	fieldPermanent
	fieldRetryable
	fieldClassifiers
	fieldInlineAttempts
	fieldInlineBackoff
	fieldCount
)

// fieldPaths are the fields' keys inside a block.
var fieldPaths = [fieldCount]path{
	fieldKind:         {"retry", "kind"},
	fieldMaxAttempts:  {"retry", "max_attempts"},
	fieldTimeBudget:   {"retry", "time_budget"},
	fieldBackoff:      {"retry", "backoff"},
	fieldBase:         {"retry", "base"},
	fieldMultiplier:   {"retry", "multiplier"},
	fieldCap:          {"retry", "cap"},
	fieldJitter:       {"retry", "jitter"},
	fieldStartToClose: {"execution", "start_to_close"},
	fieldMaxPayload:   {"limits", "max_payload"},
	fieldTTLSucceeded: {"limits", "ttl_succeeded"},
	fieldDLQRetention: {"limits", "dlq_retention"},
	fieldPermanent:    {"classification", "permanent"},
	fieldRetryable:    {"classification", "retryable"},
	fieldClassifiers:  {"classifiers"},

	fieldInlineAttempts: {"execution", "inline_retries", "attempts"},
	fieldInlineBackoff:  {"execution", "inline_retries", "backoff"},
}

// policyLayer is one block of the configuration, ready to be laid over others.
type policyLayer struct {
	Patch
	limits         Limits
	classification Classification
	inline         InlineRetries
	origin         *origin
}

// layers are the blocks that were said, by place; built-in values aren't
// among them, because an actor's description stands between.
type layers struct {
	defaults *policyLayer
	queues   map[string]*policyLayer
	tenants  map[string]*tenantLayers
}

type tenantLayers struct {
	defaults *policyLayer
	queues   map[string]*policyLayer
	actors   map[string]*policyLayer
}

// of is the blocks of a lookup, lowest first.
func (ls *layers) of(l Lookup) []*policyLayer {
	out := make([]*policyLayer, 0, 5)
	add := func(b *policyLayer) {
		if b != nil {
			out = append(out, b)
		}
	}
	add(ls.defaults)
	add(ls.queues[l.Queue])
	if t := ls.tenants[l.Tenant]; t != nil {
		add(t.defaults)
		add(t.queues[l.Queue])
		add(t.actors[l.Actor])
	}
	return out
}

func (c *Config) buildLayers() layers {
	// What defaults says by itself: its built-in values are the layer below
	// the actor's description.
	said := c.Defaults
	for f, p := range fieldPaths {
		if c.origins[path{"defaults"}.with(p...).key()] == builtinLayer {
			said.forget(field(f))
		}
	}
	ls := layers{
		defaults: c.blockLayer(path{"defaults"}, said),
		queues:   map[string]*policyLayer{},
		tenants:  map[string]*tenantLayers{},
	}
	for name, b := range c.Queues {
		ls.queues[name] = c.blockLayer(path{"queues", name}, b)
	}
	for name, t := range c.Tenants {
		at := path{"tenants", name}
		tl := &tenantLayers{
			defaults: c.blockLayer(at.with("defaults"), t.Defaults),
			queues:   map[string]*policyLayer{}, actors: map[string]*policyLayer{},
		}
		for queue, b := range t.Queues {
			tl.queues[queue] = c.blockLayer(at.with("queues", queue), b)
		}
		for actor, a := range t.Actors {
			tl.actors[actor] = c.blockLayer(at.with("actors", actor), Block{Retry: a.Retry, Classifiers: a.Classifiers, Execution: a.Execution})
		}
		ls.tenants[name] = tl
	}
	return ls
}

func (c *Config) blockLayer(at path, b Block) *policyLayer {
	return &policyLayer{
		Patch:          Patch{Retry: b.Retry, StartToClose: b.Execution.StartToClose, Classifiers: prepared(b.Classifiers)},
		limits:         b.Limits,
		classification: b.Classification,
		inline:         b.Execution.InlineRetries,
		origin:         &origin{at: at},
	}
}

func (b *Block) forget(f field) {
	switch f {
	case fieldKind:
		b.Retry.Kind = nil
	case fieldMaxAttempts:
		b.Retry.MaxAttempts = nil
	case fieldTimeBudget:
		b.Retry.TimeBudget = nil
	case fieldBackoff:
		b.Retry.Backoff = nil
	case fieldBase:
		b.Retry.Base = nil
	case fieldMultiplier:
		b.Retry.Multiplier = nil
	case fieldCap:
		b.Retry.Cap = nil
	case fieldJitter:
		b.Retry.Jitter = nil
	case fieldStartToClose:
		b.Execution.StartToClose = nil
	case fieldInlineAttempts:
		b.Execution.InlineRetries.Attempts = nil
	case fieldInlineBackoff:
		b.Execution.InlineRetries.Backoff = nil
	case fieldMaxPayload:
		b.Limits.MaxPayload = nil
	case fieldTTLSucceeded:
		b.Limits.TTLSucceeded = nil
	case fieldDLQRetention:
		b.Limits.DLQRetention = nil
	}
}

// builtinResolved is what holds where nobody said anything.
func (c *Config) builtinResolved() Resolved {
	r := Resolved{
		Retry:        retry.Default(),
		StartToClose: c.Host.DefaultStartToClose,
		MaxPayload:   shipped.MaxPayload,
		TTLSucceeded: shipped.TTLSucceeded,
		DLQRetention: shipped.DLQRetention,
		Inline:       shipped.Inline,
	}
	for f := range r.from {
		r.from[f] = fromBuiltin
	}
	r.from[fieldStartToClose] = fromHost
	return r
}

// shipped is the built-in limits, read once from the schema.
var shipped = func() (r Resolved) {
	def := func(f field) any {
		n := schema.find(path{"defaults"}.with(fieldPaths[f]...))
		v, broken := n.parse(n.builtin, true)
		if broken != "" {
			panic("config: built-in " + strings.Join(fieldPaths[f], ".") + ": " + broken)
		}
		return v
	}
	r.MaxPayload = def(fieldMaxPayload).(Size)
	r.TTLSucceeded = def(fieldTTLSucceeded).(time.Duration)
	r.DLQRetention = def(fieldDLQRetention).(time.Duration)
	r.Inline = Inline{def(fieldInlineAttempts).(int), def(fieldInlineBackoff).(time.Duration)}
	return r
}()

func (r *Resolved) applyBlock(b *policyLayer) {
	r.apply(b.Patch, b.origin)
	set(r, fieldMaxPayload, &r.MaxPayload, b.limits.MaxPayload, b.origin)
	set(r, fieldTTLSucceeded, &r.TTLSucceeded, b.limits.TTLSucceeded, b.origin)
	set(r, fieldDLQRetention, &r.DLQRetention, b.limits.DLQRetention, b.origin)
	setList(r, fieldPermanent, &r.Classification.Permanent, b.classification.Permanent, b.origin)
	setList(r, fieldRetryable, &r.Classification.Retryable, b.classification.Retryable, b.origin)
	set(r, fieldInlineAttempts, &r.Inline.Attempts, b.inline.Attempts, b.origin)
	set(r, fieldInlineBackoff, &r.Inline.Backoff, b.inline.Backoff, b.origin)
}

func (r *Resolved) apply(p Patch, o *origin) {
	set(r, fieldKind, &r.Retry.Kind, p.Retry.Kind, o)
	set(r, fieldMaxAttempts, &r.Retry.MaxAttempts, p.Retry.MaxAttempts, o)
	set(r, fieldTimeBudget, &r.Retry.TimeBudget, p.Retry.TimeBudget, o)
	set(r, fieldBackoff, &r.Retry.Backoff, p.Retry.Backoff, o)
	set(r, fieldBase, &r.Retry.Base, p.Retry.Base, o)
	set(r, fieldMultiplier, &r.Retry.Multiplier, p.Retry.Multiplier, o)
	set(r, fieldCap, &r.Retry.Cap, p.Retry.Cap, o)
	set(r, fieldJitter, &r.Retry.Jitter, p.Retry.Jitter, o)
	set(r, fieldStartToClose, &r.StartToClose, p.StartToClose, o)
	setList(r, fieldClassifiers, &r.Classifiers, p.Classifiers, o)
}

// set replaces a field by what a layer said, if it said anything.
func set[T any](r *Resolved, f field, to, said *T, o *origin) {
	if said != nil {
		*to, r.from[f] = *said, o
	}
}

// setList replaces a whole list: lists aren't merged, and an empty one is a
// value.
func setList[T any](r *Resolved, f field, to *[]T, said []T, o *origin) {
	if said != nil {
		*to, r.from[f] = said, o
	}
}
