package classify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func TestVectorsErrorGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[struct {
		Pattern, Type string
		Match         bool
	}](t, "error_globs.json") {
		t.Run(c.Pattern+" on "+c.Type, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.Match, classify.Glob(c.Pattern, c.Type))
			l := ladder()
			l.Rules.Permanent = []string{c.Pattern}
			for _, f := range []*abi.Failure{{Class: c.Type}, {Class: "\x00", Ancestors: []string{"\x01", c.Type}}} {
				if c.Pattern == "*" && f.Class == "\x00" {
					continue
				}
				in := failed("", 1)
				in.Failure = f
				d := l.Decide(t.Context(), in)
				require.Equal(t, c.Match, d.DecidedBy == classify.ByDeny, "class and each ancestor")
			}
		})
	}
}

func TestVectorsRetryAfter(t *testing.T) {
	t.Parallel()
	type expect struct {
		Claim   bool   `json:"claim"`
		DelayMS *int64 `json:"delay_ms"`
	}
	for _, c := range readVectors[struct {
		Headers map[string]string `json:"headers"`
		Now     time.Time         `json:"now"`
		Expect  expect            `json:"expect"`
		Note    string            `json:"note"`
		Status  int               `json:"failure_http_status"`
	}](t, "retry_after.json") {
		t.Run(fmt.Sprintf("%v %s", c.Headers, c.Note), func(t *testing.T) {
			t.Parallel()
			f := &abi.Failure{Class: "HttpError", HTTP: &abi.HTTP{Status: c.Status, Headers: c.Headers}}
			for _, kind := range []retry.Kind{retry.Indefinite, retry.Transient} {
				b := builtin(t, classify.RateLimitAware, fmt.Sprintf(`{"claim_kind":%q}`, kind))
				o, err := b.Classify(t.Context(), classify.Question{Failure: f, OccurredAt: c.Now})
				require.NoError(t, err)
				require.Equal(t, c.Expect.Claim, o != nil)
				if o == nil {
					continue
				}
				require.Equal(t, kind, o.Kind)
				if c.Expect.DelayMS == nil {
					require.Nil(t, o.Delay)
				} else {
					require.NotNil(t, o.Delay)
					require.Equal(t, *c.Expect.DelayMS, o.Delay.Milliseconds())
				}
			}
			never := builtin(t, classify.RateLimitAware, `{"claim_kind":"none"}`)
			o, err := never.Classify(t.Context(), classify.Question{Failure: f, OccurredAt: c.Now})
			require.NoError(t, err)
			require.Nil(t, o)
		})
	}
}

func TestVectorsTaxonomy(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[struct {
		Failure abi.Failure     `json:"failure"`
		Config  json.RawMessage `json:"config"`
		Expect  *retry.Kind     `json:"expect"`
		Note    string          `json:"note"`
	}](t, "taxonomy.json") {
		t.Run(fmt.Sprintf("%s %v %s", c.Failure.Class, c.Failure.HTTP, c.Config), func(t *testing.T) {
			t.Parallel()
			b := builtin(t, classify.FailureTaxonomy, string(c.Config))
			o, err := b.Classify(t.Context(), classify.Question{Failure: &c.Failure})
			require.NoError(t, err)
			if c.Expect == nil {
				require.Nil(t, o)
				return
			}
			require.Equal(t, &classify.Override{Kind: *c.Expect}, o)
		})
	}
}

type decideCase struct {
	Name   string `json:"name"`
	Policy struct {
		Kind        retry.Kind `json:"kind"`
		MaxAttempts int        `json:"max_attempts"`
	} `json:"policy"`
	Attempt        int         `json:"attempt"`
	Failure        abi.Failure `json:"failure"`
	Classification struct {
		Permanent []string `json:"permanent"`
		Retryable []string `json:"retryable"`
	} `json:"classification"`
	RetryOn      []string `json:"retry_on"`
	NonRetryable []string `json:"non_retryable_errors"`
	Chain        []struct {
		Name    string          `json:"name"`
		Answer  json.RawMessage `json:"answer"`
		Trap    bool            `json:"trap"`
		Timeout bool            `json:"timeout"`
	} `json:"chain"`
	Mapper json.RawMessage `json:"mapper"`
	Expect struct {
		Action     classify.Action  `json:"action"`
		DecidedBy  string           `json:"decided_by"`
		Kind       retry.Kind       `json:"kind"`
		DelayMS    int64            `json:"delay_ms"`
		DeadReason retry.DeadReason `json:"dead_reason"`
	} `json:"expect"`
}

// asModule answers as a module's host does: from JSON, with its traps as
// errors.
func (c *decideCase) asModule() classify.Chain {
	var chain classify.Chain
	for _, m := range c.Chain {
		chain = append(chain, classifier{m.Name, func(classify.Question) (*classify.Override, error) {
			switch {
			case m.Trap:
				return nil, errors.New("GuestTrap.Unreachable")
			case m.Timeout:
				return nil, fmt.Errorf("classify: %w", context.DeadlineExceeded)
			case string(m.Answer) == "null":
				return nil, nil
			}
			return classify.ParseAnswer(m.Answer)
		}})
	}
	return chain
}

// native answers as Go code does, unchecked, with its traps as panics.
func (c *decideCase) native(t *testing.T) classify.Chain {
	var chain classify.Chain
	for _, m := range c.Chain {
		var said *struct {
			Kind    retry.Kind `json:"kind"`
			DelayMS *int64     `json:"delay_ms"`
		}
		if m.Answer != nil {
			require.NoError(t, json.Unmarshal(m.Answer, &said))
		}
		chain = append(chain, classifier{m.Name, func(classify.Question) (*classify.Override, error) {
			switch {
			case m.Trap:
				panic("trap")
			case m.Timeout:
				return nil, context.DeadlineExceeded
			case said == nil:
				return nil, nil
			}
			o := &classify.Override{Kind: said.Kind}
			if said.DelayMS != nil {
				o.Delay = ptr(ms(*said.DelayMS))
			}
			return o, nil
		}})
	}
	return chain
}

func TestVectorsDecide(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[decideCase](t, "decide.json") {
		for name, chain := range map[string]classify.Chain{"module": c.asModule(), "native": c.native(t)} {
			t.Run(c.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				l := ladder()
				l.Rules = classify.Rules{
					RetryOn: c.RetryOn, NonRetryable: c.NonRetryable,
					Permanent: c.Classification.Permanent, Retryable: c.Classification.Retryable,
				}
				l.Chain = chain
				l.Mapper = mapper(func(classify.Question) (*classify.Verdict, error) {
					if c.Mapper == nil {
						return nil, nil
					}
					return classify.ParseVerdict(c.Mapper)
				})
				in := failed("", c.Attempt)
				in.Failure = &c.Failure
				in.Policy.Kind, in.Policy.MaxAttempts = c.Policy.Kind, c.Policy.MaxAttempts
				d := l.Decide(t.Context(), in)
				require.Equal(t, c.Expect.Action, d.Action)
				require.Equal(t, c.Expect.DecidedBy, d.DecidedBy)
				require.Equal(t, c.Expect.DeadReason, d.DeadReason)
				require.Equal(t, c.Expect.DelayMS, d.DelayMS())
				if c.Expect.Kind != "" {
					require.Equal(t, c.Expect.Kind, d.Kind)
				}
			})
		}
	}
}
