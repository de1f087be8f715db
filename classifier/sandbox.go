package classifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
)

// What one question may take.
const (
	Timeout = 5 * time.Millisecond // wall clock, the instance's creation included
	Memory  = 16 << 20             // bytes of linear memory
)

const (
	maxAnswer    = 256 << 10
	maxLogBytes  = 16 << 10
	maxHostCalls = 1_000
)

// Find gives the module when a question is asked, so that it is loaded only
// where something failed. An error that wraps [classify.ErrMissing] says that
// there is no such module.
type Find func(ctx context.Context) (*host.Module, error)

// Found is the Find of a module that is at hand.
func Found(m *host.Module) Find {
	return func(context.Context) (*host.Module, error) { return m, nil }
}

// Classifier is a module as a [classify.Classifier] and as a
// [classify.Mapper].
type Classifier struct {
	name     string
	find     Find
	settings json.RawMessage

	Cache   *Cache        // nil: every question is asked
	Sink    host.Sink     // of what it logs; nil: nobody hears it
	Timeout time.Duration // 0: Timeout
}

// New makes a classifier. Settings is its configuration, JSON or nil.
func New(name string, find Find, settings json.RawMessage) *Classifier {
	return &Classifier{name: name, find: find, settings: settings}
}

// Name is how configurations refer to it.
func (c *Classifier) Name() string { return c.name }

// Classify asks the module about a failure.
func (c *Classifier) Classify(ctx context.Context, q classify.Question) (*classify.Override, error) {
	raw, err := c.ask(ctx, q)
	if err != nil || raw == nil {
		return nil, err
	}
	return classify.ParseAnswer(raw)
}

// Map asks the module about an attempt's end.
func (c *Classifier) Map(ctx context.Context, q classify.Question) (*classify.Verdict, error) {
	raw, err := c.ask(ctx, q)
	if err != nil || raw == nil {
		return nil, err
	}
	return classify.ParseVerdict(raw)
}

// ask gives what the module pushed, nil for no opinion.
func (c *Classifier) ask(ctx context.Context, q classify.Question) ([]byte, error) {
	record, err := q.Record(c.settings)
	if err != nil {
		return nil, err
	}
	m, err := c.find(ctx)
	if err != nil {
		return nil, err
	}
	key := keyOf(m.Report().Digest, record)
	if answer, ok := c.Cache.get(key); ok {
		return answer, nil
	}
	answer, err := c.run(ctx, m, record)
	if err == nil {
		c.Cache.add(key, answer)
	}
	return answer, err
}

func (c *Classifier) run(ctx context.Context, m *host.Module, record []byte) ([]byte, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = Timeout
	}
	out := m.Run(ctx, host.Attempt{
		Kind: abi.KindClassify, Input: record, Sink: c.Sink, Timeout: timeout,
		Limits: host.Limits{Memory: Memory, Result: maxAnswer, LogBytes: maxLogBytes, HostCalls: maxHostCalls},
	})
	switch out.Kind {
	case host.Succeeded:
		return out.Result, nil
	case host.Failed:
		return nil, broken(out.Failure, timeout)
	case host.Stopped:
		return nil, fmt.Errorf("stopped: %w", out.Cause)
	}
	return nil, errors.New("it asked to be deferred") // no import offers that
}

func broken(f *abi.Failure, timeout time.Duration) error {
	switch {
	case f.TimedOut:
		return fmt.Errorf("not done within %s: %w", timeout, context.DeadlineExceeded)
	case f.Class == abi.ClassUnencodableValue:
		return fmt.Errorf("%w: %s", classify.ErrNonsense, f.Message)
	}
	return fmt.Errorf("%s: %s", f.Class, f.Message)
}
