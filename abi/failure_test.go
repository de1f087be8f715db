package abi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseFailureReadsWhatAGuestMaySay(t *testing.T) {
	t.Parallel()
	f, err := ParseFailure([]byte(`{"class":"stripe.CardDeclined","ancestors":["stripe.Error","Error"],"message":"declined",
		"permanent":true,"http":{"status":402,"headers":{"Retry-After":"30"}},"details":{"code":"x"},"stack":"at a",
		"cause":{"class":"net.OpError","message":"refused"},"from_a_newer_sdk":1}`))
	require.NoError(t, err)
	require.Equal(t, &Failure{
		Class: "stripe.CardDeclined", Ancestors: []string{"stripe.Error", "Error"}, Message: "declined", Permanent: true,
		HTTP:    &HTTP{Status: 402, Headers: map[string]string{"Retry-After": "30"}},
		Details: json.RawMessage(`{"code":"x"}`), Stack: "at a",
		Cause: &Failure{Class: "net.OpError", Message: "refused"},
	}, f)
}

func TestParseFailureNeverTakesTheHostsFields(t *testing.T) {
	t.Parallel()
	f, err := ParseFailure([]byte(`{"class":"X","message":"m","origin":"host","exit_code":75,"trap":"t","timed_out":true,"pre_actor":true,"truncated":["a"]}`))
	require.NoError(t, err)
	require.Equal(t, &Failure{Class: "X", Message: "m"}, f)
}

func TestParseFailureKeepsReservedNamesAsTextOnly(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"HostFault", "GuestOutOfFuel", "WorkerStopped", "AbiViolation", "LimitDenied", "ModuleInit"} {
		f, err := ParseFailure(fmt.Appendf(nil, `{"class":%q,"message":"m","ancestors":["A",%q,"A","AlwaysTerminal"]}`, class, class))
		require.NoError(t, err)
		require.Equal(t, ClassGuestError, f.Class)
		require.Equal(t, class+": m", f.Message)
		require.Equal(t, []string{"A"}, f.Ancestors)
	}
	f, err := ParseFailure([]byte(`{"class":"GuestError","message":"m"}`))
	require.NoError(t, err)
	require.Equal(t, "m", f.Message, "its own name needs no prefix")
}

func TestParseFailureGivesTerminalClassesTheirAncestor(t *testing.T) {
	t.Parallel()
	for _, class := range []string{ClassPayloadValidation, ClassUnencodableValue} {
		f, err := ParseFailure(fmt.Appendf(nil, `{"class":%q}`, class))
		require.NoError(t, err)
		require.Equal(t, class, f.Class)
		require.Equal(t, []string{ClassAlwaysTerminal}, f.Ancestors)
	}
}

func TestParseFailureRefusesNonsenseNamingTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{``, "valid JSON"}, {`null`, "object"}, {`[]`, "object"}, {`"x"`, "object"}, {`{} {}`, "valid JSON"},
		{`{"class":1}`, "class"}, {`{"message":{}}`, "message"}, {`{"ancestors":"a"}`, "ancestors"},
		{`{"permanent":"yes"}`, "permanent"}, {`{"permanent":true,"retryable":true}`, "exclude"},
		{`{"http":3}`, "http"}, {`{"http":{"status":"500"}}`, "http.status"}, {`{"http":{"status":1000}}`, "http.status"},
		{`{"http":{"headers":{"a":["b"]}}}`, "http.headers"}, {`{"cause":3}`, "cause"}, {`{"cause":{"class":1}}`, "cause: class"},
	} {
		_, err := ParseFailure([]byte(c.in))
		require.ErrorContains(t, err, c.want, c.in)
	}
}

func TestParseFailureCutsAndSaysSo(t *testing.T) {
	t.Parallel()
	ancestors := make([]string, 40)
	headers := map[string]string{}
	for i := range ancestors {
		ancestors[i] = fmt.Sprintf("a%d", i)
		headers[fmt.Sprintf("h%02d", i)] = "v"
	}
	long := strings.Repeat("ü", 70<<10)
	raw, err := json.Marshal(map[string]any{
		"class": long, "message": long, "stack": long, "ancestors": ancestors,
		"details": map[string]string{"a": long}, "http": map[string]any{"headers": headers},
	})
	require.NoError(t, err)
	f, err := ParseFailure(raw)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"class", "message", "stack", "ancestors", "details", "http.headers"}, f.Truncated)
	require.Len(t, f.Ancestors, MaxAncestors)
	require.Len(t, f.HTTP.Headers, MaxHeaders)
	require.Nil(t, f.Details)
	require.LessOrEqual(t, len(f.Message), MaxMessage)
	require.True(t, utf8.ValidString(f.Message))
}

func TestParseFailureStopsAtTooManyCauses(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat(`{"class":"X","cause":`, 20) + `{"class":"last"}` + strings.Repeat("}", 20)
	f, err := ParseFailure([]byte(raw))
	require.NoError(t, err)
	depth := 0
	for f.Cause != nil {
		f = f.Cause
		depth++
	}
	require.Equal(t, MaxCauses, depth)
	require.Equal(t, []string{"cause"}, f.Truncated)
}

func TestParseControlTakesExactlyOneThing(t *testing.T) {
	t.Parallel()
	c, err := ParseControl([]byte(`{"retry_after_ms":5000,"consume_budget":false}`))
	require.NoError(t, err)
	require.EqualValues(t, 5000, *c.RetryAfterMS)
	require.False(t, *c.ConsumeBudget)
	c, err = ParseControl([]byte(`{"fail":{"class":"X","message":"m"}}`))
	require.NoError(t, err)
	require.Equal(t, "X", c.Fail.Class)
	c, err = ParseControl([]byte(`{"log":{"level":"warn","message":"m","fields":{"a":1,"b":"\u0000"}}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": json.Number("1"), "b": "\uFFFD"}, c.Log.Fields)
	for _, bad := range []string{
		``, `{}`, `[]`, `{"snooze_ms":-1}`, `{"snooze_ms":1.5}`, `{"snooze_ms":"5"}`, `{"snooze_ms":1,"retry_after_ms":1}`,
		`{"snooze_ms":1,"consume_budget":true}`, `{"snoose_ms":1}`, `{"fail":{"permanent":true,"retryable":true}}`,
		`{"log":"x"}`, `{"log":{"level":"loud"}}`, `{"snooze_ms":1} trailing`,
	} {
		_, err := ParseControl([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestMillisecondsSaturate(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 5_000_000, Milliseconds(5))
	require.Positive(t, Milliseconds(1<<62))
	require.Negative(t, Milliseconds(-1<<62))
}

func FuzzParseFailure(f *testing.F) {
	f.Add([]byte(`{"class":"X","ancestors":["Y"],"message":"m","http":{"status":500,"headers":{"a":"b"}},"details":[1e999],"cause":{"class":"HostFault"}}`))
	f.Add([]byte(`{"class":"\ud800","message":"\u0000"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ParseFailure(raw)
		if err != nil {
			return
		}
		for f := got; f != nil; f = f.Cause {
			require.False(t, f.Class != ClassGuestError && Reserved(f.Class))
			require.NotEmpty(t, f.Class)
			for _, s := range append([]string{f.Class, f.Message, f.Stack}, f.Ancestors...) {
				require.True(t, utf8.ValidString(s))
				require.NotContains(t, s, "\x00")
			}
			require.Empty(t, f.Origin)
			require.Nil(t, f.ExitCode)
			require.False(t, f.TimedOut || f.PreActor || f.Permanent && f.Retryable)
		}
		_, err = json.Marshal(got)
		require.NoError(t, err)
	})
}

func FuzzParseControl(f *testing.F) {
	f.Add([]byte(`{"snooze_ms":5000}`))
	f.Add([]byte(`{"log":{"message":"m","fields":{"a":[1]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseControl(raw)
		if err != nil {
			return
		}
		require.False(t, c.SnoozeMS != nil && *c.SnoozeMS < 0)
	})
}
