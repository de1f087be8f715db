package classify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/classify"
)

const longest = 9223372036854 * time.Millisecond

func TestRetryAfterGrammar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     time.Duration // 0: not in the grammar
	}{
		{"leading zeros", "0120", 120 * time.Second},
		{"below a millisecond is a millisecond", "0.0001", time.Millisecond},
		{"fractions are rounded down", "1.0019", 1001 * time.Millisecond},
		{"a short fraction", "2.5", 2500 * time.Millisecond},
		{"a very long fraction", "1." + strings.Repeat("9", 500), 1999 * time.Millisecond},
		{"the longest", "9223372036.854", longest},
		{"a millisecond above the longest", "9223372036.855", longest},
		{"a second above the longest", "9223372037", longest},
		{"a very long number", strings.Repeat("9", 500), longest},
		{"no digits before the point", ".5", 0},
		{"no digits after the point", "5.", 0},
		{"two points", "1.2.3", 0},
		{"a line feed isn't trimmed", "120\n", 0},
		{"a unit", "120s", 0},
		{"a date", "Sun, 01 Mar 2026 12:00:01 GMT", time.Second},
		{"a date now", "Sun, 01 Mar 2026 12:00:00 GMT", 0},
		{"a date far ahead", "Fri, 31 Dec 9999 23:59:59 GMT", longest},
		{"a zone that isn't GMT", "Sun, 01 Mar 2026 12:02:00 EST", 0},
		{"UTC isn't GMT", "Sun, 01 Mar 2026 12:02:00 UTC", 0},
		{"the wrong weekday", "Mon, 01 Mar 2026 12:02:00 GMT", 0},
		{"the wrong case", "sun, 01 mar 2026 12:02:00 GMT", 0},
		{"a fraction of a second", "Sun, 01 Mar 2026 12:02:00.5 GMT", 0},
		{"a day that doesn't exist", "Mon, 30 Feb 2026 12:00:00 GMT", 0},
		{"a day without its zero", "Sun, 1 Mar 2026 12:02:00 GMT", 0},
		{"RFC 850", "Sunday, 01-Mar-26 12:02:00 GMT", 2 * time.Minute},
		{"RFC 850 in another zone", "Sunday, 01-Mar-26 12:02:00 EST", 0},
		{"RFC 850: 50 years ahead is ahead", "Saturday, 29-Feb-76 12:00:00 GMT", time.Date(2076, 2, 29, 12, 0, 0, 0, time.UTC).Sub(noon)},
		{"RFC 850: more than that is the past", "Tuesday, 01-Mar-77 12:00:00 GMT", 0},
		{"asctime with a space", "Sun Mar  1 12:02:00 2026", 2 * time.Minute},
		{"asctime with a zero", "Sun Mar 01 12:02:00 2026", 2 * time.Minute},
		{"asctime with two digits", "Tue Mar 10 12:00:00 2026", 9 * 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := classify.ParseRetryAfter(c.in, noon)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want > 0, ok)
		})
	}
}

func TestADateCountsFromTheFailuresTime(t *testing.T) {
	t.Parallel()
	const date = "Sun, 01 Mar 2026 12:00:00 GMT"
	got, ok := classify.ParseRetryAfter(date, noon.Add(-1500*time.Microsecond))
	require.True(t, ok)
	require.Equal(t, time.Millisecond, got, "whole milliseconds, rounded down")
	got, ok = classify.ParseRetryAfter(date, noon.Add(-1))
	require.True(t, ok)
	require.Equal(t, time.Millisecond, got, "and never nothing")
	got, _ = classify.ParseRetryAfter(date, noon.Add(-time.Hour).In(time.FixedZone("", -7*3600)))
	require.Equal(t, time.Hour, got, "whatever zone that is told in")
}

func TestACenturysTurnIsReadForwards(t *testing.T) {
	t.Parallel()
	at := time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
	got, ok := classify.ParseRetryAfter("Saturday, 01-Jan-24 00:00:00 GMT", at)
	require.True(t, ok, "2124, because 2024 is no time to come back")
	require.Equal(t, time.Date(2124, 1, 1, 0, 0, 0, 0, time.UTC).Sub(at), got)
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "0.5", "99999999999999999999", "Sun, 01 Mar 2026 12:02:00 GMT", "Sunday, 01-Mar-26 12:02:00 GMT", "Sun Mar  1 12:02:00 2026", " \t", "1.", "-0"} {
		f.Add(s, int64(1772366400))
	}
	f.Fuzz(func(t *testing.T, value string, at int64) {
		got, ok := classify.ParseRetryAfter(value, time.Unix(at%(1<<36), 0))
		require.Equal(t, ok, got > 0)
		require.Zero(t, got%time.Millisecond)
		require.LessOrEqual(t, got, longest)
		again, _ := classify.ParseRetryAfter(" "+value+"\t", time.Unix(at%(1<<36), 0))
		require.Equal(t, got, again)
	})
}
