package classify_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

func TestAnswersAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     *classify.Override // nil: nonsense
	}{
		{"everything", `{"kind":"transient","delay_ms":7,"spread":0.5,"reason":"so"}`, &classify.Override{Kind: retry.Transient, Delay: ptr(7 * time.Millisecond), Spread: 0.5, Reason: "so"}},
		{"nothing", `{}`, &classify.Override{}},
		{"nulls are absent", `{"kind":null,"delay_ms":null}`, &classify.Override{}},
		{"fields of a newer version", `{"kind":"transient","mood":1}`, &classify.Override{Kind: retry.Transient}},
		{"names are compared with case", `{"Kind":"transient"}`, &classify.Override{}},
		{"a delay beyond any duration", `{"delay_ms":9223372036854775807}`, &classify.Override{Delay: ptr(longest)}},
		{"a reason that no column takes", `{"reason":"a\u0000"}`, &classify.Override{Reason: "a\uFFFD"}},
		{"an unknown kind", `{"kind":"sometimes"}`, nil},
		{"a negative delay", `{"delay_ms":-1}`, nil},
		{"half a millisecond", `{"delay_ms":0.5}`, nil},
		{"text for a delay", `{"delay_ms":"5"}`, nil},
		{"a number for a kind", `{"kind":1}`, nil},
		{"spread above one", `{"delay_ms":1,"spread":1.01}`, nil},
		{"null", `null`, nil},
		{"a list", `[]`, nil},
		{"no JSON", `{`, nil},
		{"nothing at all", ``, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := classify.ParseAnswer([]byte(c.in))
			if c.want == nil {
				require.ErrorIs(t, err, classify.ErrNonsense)
				require.Nil(t, o)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, o)
		})
	}
}

func TestVerdictsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     *classify.Verdict
	}{
		{"a success", `{"succeed":{"a":"\u0000"}}`, &classify.Verdict{Succeed: []byte(`{"a":"\ufffd"}`), ConsumeBudget: true}},
		{"a success with null", `{"succeed":null}`, &classify.Verdict{Succeed: []byte(`null`), ConsumeBudget: true}},
		{"a snooze", `{"snooze_ms":5}`, &classify.Verdict{Snooze: ptr(ms(5)), ConsumeBudget: true}},
		{"a retry consumes unless said otherwise", `{"retry_after_ms":5}`, &classify.Verdict{RetryAfter: ptr(ms(5)), ConsumeBudget: true}},
		{"a retry that keeps the budget", `{"retry_after_ms":5,"consume_budget":false}`, &classify.Verdict{RetryAfter: ptr(ms(5))}},
		{"a failure", `{"fail":{"class":"A","message":"m"}}`, &classify.Verdict{Fail: &abi.Failure{Class: "A", Message: "m"}, ConsumeBudget: true}},
		{"a failure with a kind", `{"fail":{"class":"A"},"kind":"indefinite"}`, &classify.Verdict{Override: classify.Override{Kind: retry.Indefinite}, Fail: &abi.Failure{Class: "A"}, ConsumeBudget: true}},
		{"an override", `{"delay_ms":5}`, &classify.Verdict{Override: classify.Override{Delay: ptr(ms(5))}, ConsumeBudget: true}},
		{"two at once", `{"snooze_ms":5,"retry_after_ms":5}`, nil},
		{"a success and a kind", `{"succeed":1,"kind":"transient"}`, nil},
		{"a negative snooze", `{"snooze_ms":-1}`, nil},
		{"a negative retry", `{"retry_after_ms":-1}`, nil},
		{"a failure that contradicts itself", `{"fail":{"class":"A","permanent":true,"retryable":true}}`, nil},
		{"a failure that is none", `{"fail":"A"}`, nil},
		{"an unknown kind", `{"kind":"x"}`, nil},
		{"no JSON", `}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, err := classify.ParseVerdict([]byte(c.in))
			if c.want == nil {
				require.ErrorIs(t, err, classify.ErrNonsense)
				require.Nil(t, v)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, v)
		})
	}
}

func TestAMappersFailureCantPoseAsTheHosts(t *testing.T) {
	t.Parallel()
	v, err := classify.ParseVerdict([]byte(`{"fail":{"class":"HostFault"}}`))
	require.NoError(t, err)
	require.Equal(t, abi.ClassGuestError, v.Fail.Class)
}

func TestAQuestionIsTheABIsRecord(t *testing.T) {
	t.Parallel()
	q := classify.Question{
		Failure: &abi.Failure{Class: "A", Message: "m"}, Attempt: 2, Policy: retry.Default(), Settings: retry.DefaultSettings(),
		Deadline: noon.Add(time.Minute), OccurredAt: noon,
	}
	got, err := q.Record(json.RawMessage(`{"x":1}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"failure":{"class":"A","message":"m"},"attempt":2,"max_attempts":3,"retry_kind":"transient","deadline_ms":1772366460000,
		"occurred_at_ms":1772366400000,"policy":{"kind":"transient","next_delay_ms":10000},"settings":{"x":1}}`, string(got))

	for in, want := range map[string]string{`{"a":1}`: `{"a":1}`, "plain": `"plain"`, "\xff": "", "": ""} {
		got, err := classify.Question{Result: []byte(in), Policy: retry.Default()}.Record(nil)
		require.NoError(t, err)
		var back struct {
			Result  json.RawMessage `json:"result"`
			Failure json.RawMessage `json:"failure"`
		}
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, want, string(back.Result))
		require.Nil(t, back.Failure)
	}
	_, err = classify.Question{}.Record(json.RawMessage(`{`))
	require.ErrorContains(t, err, "classifier input")
}

func FuzzParseVerdict(f *testing.F) {
	for _, s := range []string{
		`{"kind":"transient","delay_ms":5,"spread":0.5,"reason":"x"}`, `{"succeed":{"a":"\u0000"}}`, `{"fail":{"class":"A"}}`,
		`{"snooze_ms":5}`, `{"retry_after_ms":5,"consume_budget":false}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := ladder()
		l.Mapper = mapper(func(classify.Question) (*classify.Verdict, error) { return classify.ParseVerdict(raw) })
		l.Chain = classify.Chain{classifier{"a", func(classify.Question) (*classify.Override, error) { return classify.ParseAnswer(raw) }}}
		for _, in := range []classify.Input{failed("A", 1), {Ending: classify.Succeeded, Policy: plain(), Attempt: 1, Random: math.MaxUint64}} {
			check(t, l, in, l.Decide(t.Context(), in))
		}
	})
}
