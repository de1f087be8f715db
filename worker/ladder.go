package worker

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
)

// ladder is what decides about an attempt's end, by the configuration as it is
// now and the chain that the attempt was claimed with.
func (w *Worker) ladder(c *config.Config, a *attempted) *classify.Ladder {
	actor := c.Tenants[a.tenant.Name].Actors[a.Actor]
	l := &classify.Ladder{
		Rules: classify.Rules{
			RetryOn: actor.RetryOn, NonRetryable: actor.NonRetryableErrors,
			Permanent: a.policy.Classification.Permanent, Retryable: a.policy.Classification.Retryable,
		},
		Settings: c.Host.RetrySettings(), Log: w.log,
		Broken: func(string, classify.Breakage) { w.stats.BrokenClassifiers.Add(1) },
	}
	if actor.Mapper != "" {
		l.Mapper = w.mapper(a, actor.Mapper)
	}
	if a.outcome.Kind == host.Failed {
		l.Chain = w.chain(a)
	}
	return l
}

func (w *Worker) chain(a *attempted) classify.Chain {
	chain := make(classify.Chain, len(a.policy.Classifiers))
	for i := range chain {
		link := &a.policy.Classifiers[i]
		if chain[i] = link.Native(); chain[i] == nil {
			chain[i] = w.sandboxed(a, link.Use, link.Settings())
		}
	}
	return chain
}

// sandboxed is a module of the tenant's or the platform's; it is looked up
// when it is asked.
func (w *Worker) sandboxed(a *attempted, reference string, settings json.RawMessage) *classifier.Classifier {
	c := classifier.New(reference, func(ctx context.Context) (*host.Module, error) {
		return w.catalog.Classifier(ctx, a.tenant, reference)
	}, settings)
	c.Cache, c.Sink, c.Timeout = w.answers, &sink{w: w, a: a}, w.classifierTimeout
	return c
}

func (w *Worker) mapper(a *attempted, reference string) classify.Mapper {
	if !strings.HasPrefix(reference, classify.BuiltinPrefix) {
		return w.sandboxed(a, reference, a.settings)
	}
	native, err := classify.Builtin(reference, nil)
	if err != nil {
		return nil // the configuration was checked
	}
	return nativeMapper{native}
}

// nativeMapper lets a built-in classifier have the last word on failures.
type nativeMapper struct{ classify.Classifier }

// Map implements classify.Mapper.
func (m nativeMapper) Map(ctx context.Context, q classify.Question) (*classify.Verdict, error) {
	if q.Failure == nil {
		return nil, nil
	}
	o, err := m.Classify(ctx, q)
	if err != nil || o == nil {
		return nil, err
	}
	return &classify.Verdict{Override: *o}, nil
}
