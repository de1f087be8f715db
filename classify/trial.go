package classify

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// Trial is what one classifier makes of one failure, and what the ladder would
// decide with it alone in the chain, under the policy and the bounds that the
// host ships with.
type Trial struct {
	Claim    bool        `json:"claim"`
	Kind     *retry.Kind `json:"kind"`
	DelayMS  *int64      `json:"delay_ms"`
	Decision Decision    `json:"decision"`

	// Broken is why the answer doesn't count; nil: it does.
	Broken error `json:"-"`
}

// Try asks a classifier about a failure that ended the attempt at that time. A
// delay that is drawn is the middle of its band.
func Try(ctx context.Context, c Classifier, f *abi.Failure, attempt int, at time.Time) Trial {
	in := Input{Ending: Failed, Failure: f, Policy: retry.Default(), Attempt: attempt, OccurredAt: at, Random: 1 << 63}
	in.normalize()
	t := Trial{}
	watched := watcher{Classifier: c, said: func(o *Override, err error) {
		t.Broken = err
		if err != nil || o == nil || o.empty() {
			return
		}
		t.Claim = true
		if o.Kind != "" {
			t.Kind = &o.Kind
		}
		if o.Delay != nil {
			ms := o.Delay.Milliseconds()
			t.DelayMS = &ms
		}
	}}
	l := Ladder{Settings: retry.DefaultSettings(), Chain: Chain{watched}, Broken: func(_ string, how Breakage) {
		if t.Broken == nil {
			t.Broken = errors.New(string(how))
		}
	}}
	t.Decision = l.Decide(ctx, in)
	if t.Broken != nil {
		t.Claim, t.Kind, t.DelayMS = false, nil, nil
		return t
	}
	if t.Decision.DecidedBy != ByClassifier+c.Name() && !t.Claim {
		// A rung above decided without asking: the answer is of interest all
		// the same.
		_, _ = ask(&l, &in, "classifier", c.Name(), func() (*Override, error) { return watched.Classify(ctx, l.question(&in)) })
	}
	return t
}

// ReadFailure reads a failure that somebody wrote down to try a classifier
// with. Unlike a guest they may write what the host itself would say. One
// without a class is what a guest's is that gives none.
func ReadFailure(raw []byte) (*abi.Failure, error) {
	if _, err := abi.ParseFailure(raw); err != nil && !strings.Contains(err.Error(), "class") {
		return nil, err
	}
	f := &abi.Failure{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, errors.New("must be a failure: {class, ancestors, message, http, …}")
	}
	if f.Class == "" {
		f.Class = abi.ClassGuestError
	}
	return f, nil
}

// watcher tells what a classifier said.
type watcher struct {
	Classifier
	said func(*Override, error)
}

func (w watcher) Classify(ctx context.Context, q Question) (*Override, error) {
	o, err := w.Classifier.Classify(ctx, q)
	w.said(o, err)
	return o, err
}
