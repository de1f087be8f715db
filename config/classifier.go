package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

// Classifier is one link of a classifier chain: a name, and its settings.
type Classifier struct {
	Use  string         `json:"use"`
	With map[string]any `json:"with,omitempty"`

	native   classify.Classifier // of a built-in one
	settings json.RawMessage     // With, for a module
}

// Native is the classifier itself where it ships with the host; nil for the
// name of a module.
func (c *Classifier) Native() classify.Classifier { return c.native }

// Settings is With as JSON; nil if there is none. Read only.
func (c *Classifier) Settings() json.RawMessage { return c.settings }

// prepare checks the name, and builds what ships with the host, so that a
// wrong setting is refused here and not met by the first failure of a job.
func (c *Classifier) prepare() (broken string) {
	if c.With != nil {
		raw, err := json.Marshal(c.With)
		if err != nil {
			return "has settings that JSON can't hold"
		}
		c.settings = raw
	}
	if !strings.HasPrefix(c.Use, classify.BuiltinPrefix) {
		if !validReference(c.Use) {
			return "isn't a classifier's name: name, shared/name or builtin:name"
		}
		return ""
	}
	native, err := classify.Builtin(c.Use, c.settings)
	if rule := (*retry.PolicyError)(nil); errors.As(err, &rule) {
		return "(" + c.Use + "): with." + rule.Error()
	}
	if err != nil {
		return "is an " + err.Error()
	}
	c.native = native
	return ""
}

// prepared is a chain that was read and merged, ready for use. Each link was
// checked where it was read, so none can be broken.
func prepared(chain []Classifier) []Classifier {
	out := slices.Clone(chain)
	for i := range out {
		_ = out[i].prepare()
	}
	return out
}

// ChainOf builds a chain of names alone, as an actor's description has it; at
// is put before the paths of what is refused, and the error is [Errors].
func ChainOf(at string, names []string) ([]Classifier, error) {
	if names == nil {
		return nil, nil
	}
	chain := make([]Classifier, len(names))
	for i, name := range names {
		chain[i] = Classifier{Use: name}
		if broken := chain[i].prepare(); broken != "" {
			return nil, Errors{{Path: at, Rule: quoted(name) + " " + broken}}
		}
	}
	return chain, nil
}

// RegistrationWarnings are what whoever registers an actor should know of the
// policy and the rules that its jobs in a queue will have.
func (c *Config) RegistrationWarnings(l Lookup) []string {
	r := c.Resolve(l)
	actor := c.Tenants[l.Tenant].Actors[l.Actor]
	ladder := classify.Ladder{
		Rules:    classify.Rules{RetryOn: actor.RetryOn, NonRetryable: actor.NonRetryableErrors},
		Settings: c.Host.RetrySettings(),
	}
	for i := range r.Classifiers {
		if native := r.Classifiers[i].native; native != nil {
			ladder.Chain = append(ladder.Chain, native)
		}
	}
	return append(ladder.Warnings(r.Retry), r.Adjusted...)
}
