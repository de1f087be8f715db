package classify_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

// corner is one value of each input that the ladder's order depends on.
type corner struct {
	lost, cancel         bool
	kind                 retry.Kind
	attempt              int
	class                string
	permanent, retryable bool
	mapper               string
	deny                 string
	chain                string
	allow                bool
}

var (
	mappers = map[string]classify.Mapper{
		"": nil, "no opinion": maps(nil), "broken": mapper(func(classify.Question) (*classify.Verdict, error) { panic("x") }),
		"override": maps(&classify.Verdict{Override: classify.Override{Kind: retry.Transient}}),
		"succeed":  maps(&classify.Verdict{Succeed: []byte("1")}),
	}
	chains = map[string]classify.Chain{
		"": nil, "no opinion": {answers("a", nil)}, "broken": {panics("a"), breaks("b", errors.New("x")), answers("c", &classify.Override{Kind: "sometimes"})},
		"transient":       {answers("a", nil), answers("b", &classify.Override{Kind: retry.Transient})},
		"indefinite":      {panics("a"), answers("b", &classify.Override{Kind: retry.Indefinite})},
		"non_retryable":   {answers("b", &classify.Override{Kind: retry.NonRetryable})},
		"a delay, a kind": {answers("b", &classify.Override{Delay: ptr(ms(5))}), answers("c", &classify.Override{Kind: retry.NonRetryable})},
	}
	denies = map[string]classify.Rules{
		"": {}, "retry_on": {RetryOn: []string{"no.*"}}, "non_retryable": {NonRetryable: []string{"acme.*", "Time*"}}, "permanent": {Permanent: []string{"*"}},
		"let in": {RetryOn: []string{"*"}, NonRetryable: []string{"*"}},
	}
)

// rung tells which one must decide, written from the specification's list
// and not from the ladder.
func (c corner) rung() string {
	switch {
	case c.lost:
		return "ownership"
	case c.cancel:
		return "cancel"
	case c.permanent && c.retryable, c.class == "ResultTooLarge":
		return "always_terminal"
	case c.mapper == "override", c.mapper == "succeed":
		return "mapper"
	case c.permanent, c.retryable:
		return "guest"
	case c.deny == "retry_on", c.deny == "permanent", c.deny == "non_retryable":
		return "deny"
	case c.chain != "" && c.chain != "no opinion" && c.chain != "broken":
		return "classifier:b"
	case c.allow && c.kind != retry.NonRetryable:
		return "allow"
	}
	return "policy"
}

// budgetKind is the kind that the budget must be checked with; "" where none is.
func (c corner) budgetKind() retry.Kind {
	switch c.rung() {
	case "mapper":
		if c.mapper == "override" {
			return retry.Transient
		}
		return ""
	case "guest":
		switch {
		case c.permanent:
			return ""
		case c.kind == retry.NonRetryable:
			return retry.Transient
		}
		return c.kind
	case "classifier:b":
		if c.chain == "a delay, a kind" {
			return c.kind
		}
		return retry.Kind(c.chain)
	case "allow", "policy":
		return c.kind
	}
	return ""
}

func (c corner) action() classify.Action {
	switch kind := c.budgetKind(); {
	case c.lost:
		return classify.Drop
	case c.cancel:
		return classify.Cancel
	case kind == retry.Indefinite, kind == retry.Transient && c.attempt < 3:
		return classify.Retry
	case c.rung() == "mapper" && c.mapper == "succeed":
		return classify.Succeed
	}
	return classify.Fail
}

// each calls f with the whole product.
func each(f func(c corner)) {
	bools := []bool{false, true}
	for _, flags := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		for _, kind := range kinds {
			for _, attempt := range []int{1, 3} {
				for _, class := range []string{"acme.Oops", "ResultTooLarge", abi.ClassTimeout} {
					for _, permanent := range bools {
						for _, retryable := range bools {
							for m := range mappers {
								for deny := range denies {
									for chain := range chains {
										for _, allow := range bools {
											f(corner{flags[0], flags[1], kind, attempt, class, permanent, retryable, m, deny, chain, allow})
										}
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

func TestTheWholeProductOfFailures(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	each(func(c corner) {
		l := &classify.Ladder{Settings: retry.DefaultSettings(), Mapper: mappers[c.mapper], Chain: chains[c.chain], Rules: denies[c.deny]}
		if c.allow {
			l.Rules.Retryable = []string{"*"}
		}
		in := failed(c.class, c.attempt)
		in.OwnershipLost, in.CancelRequested, in.Policy.Kind = c.lost, c.cancel, c.kind
		in.Failure.Permanent, in.Failure.Retryable = c.permanent, c.retryable
		d := l.Decide(t.Context(), in)
		if d.DecidedBy != c.rung() || d.Action != c.action() {
			t.Fatalf("%+v: %s by %s, want %s by %s", c, d.Action, d.DecidedBy, c.action(), c.rung())
		}
		seen[d.DecidedBy]++
		if seen[d.DecidedBy]%16 == 1 { // the bounds are slow to check
			check(t, l, in, d)
		}
	})
	require.Len(t, seen, 9, "all nine rungs: %v", seen)
}

func TestTheWholeProductOfSignals(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, attempt := range []int{1, 3} {
			for _, cancel := range []bool{false, true} {
				for _, signal := range []struct {
					ending  classify.Ending
					consume bool
				}{{classify.Snoozed, false}, {classify.RetryAfter, false}, {classify.RetryAfter, true}} {
					for deny, rules := range denies {
						l := &classify.Ladder{Settings: retry.DefaultSettings(), Rules: rules, Chain: chains["non_retryable"], Mapper: mappers["succeed"]}
						in := classify.Input{
							Ending: signal.ending, ConsumeBudget: signal.consume, Delay: ms(90_000), CancelRequested: cancel,
							Attempt: attempt, Policy: plain(), OccurredAt: noon,
						}
						in.Policy.Kind = kind
						d := l.Decide(t.Context(), in)
						check(t, l, in, d)
						switch {
						case cancel:
							require.Equal(t, classify.Cancel, d.Action)
						case signal.consume && attempt == 3 && kind != retry.Indefinite:
							require.Equal(t, classify.Fail, d.Action)
							require.Equal(t, abi.ClassMaxAttemptsExceeded, d.Failure.Class)
						default:
							require.Equal(t, classify.ByGuest, d.DecidedBy, deny)
							require.Equal(t, !signal.consume, d.GiveBack)
							require.Equal(t, ms(90_000), d.Delay)
						}
					}
				}
			}
		}
	}
}
