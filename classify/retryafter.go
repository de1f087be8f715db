package classify

import (
	"strings"
	"time"
)

// longestMS is the most milliseconds that a time.Duration holds.
const longestMS = int64(1<<63-1) / int64(time.Millisecond)

// retryAfter finds the delay that a response's headers ask for: Retry-After,
// else X-Retry-After. The standard one wins even where it can't be read: then
// there is no delay. At is when the response came.
func retryAfter(headers map[string]string, at time.Time) (time.Duration, bool) {
	for _, name := range []string{"Retry-After", "X-Retry-After"} {
		if value, ok := header(headers, name); ok {
			return ParseRetryAfter(value, at)
		}
	}
	return 0, false
}

// header finds a header without regard to case. Of several spellings in one
// record the first in byte order counts, so that an answer is the same each
// time.
func header(headers map[string]string, name string) (string, bool) {
	spelling, value, found := "", "", false
	for k, v := range headers {
		if len(k) == len(name) && strings.EqualFold(k, name) && (!found || k < spelling) {
			spelling, value, found = k, v, true
		}
	}
	return value, found
}

// ParseRetryAfter reads a Retry-After value: ASCII digits with an optional
// fraction, in seconds, or a date of RFC 9110 that lies after at. Outer
// spaces and tabs are trimmed. Everything else, zero included, is false.
//
// The delay is whole milliseconds: a huge one is the longest that a duration
// holds, a positive one below a millisecond is a millisecond.
func ParseRetryAfter(value string, at time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	ms, ok := parseSeconds(value)
	if !ok {
		var date time.Time
		if date, ok = parseHTTPDate(value, at); !ok || !date.After(at) {
			return 0, false
		}
		ms = max(date.Sub(at).Milliseconds(), 1)
	}
	return time.Duration(ms) * time.Millisecond, ms > 0
}

// parseSeconds reads digits or digits.digits as milliseconds, rounded down
// but never from something to nothing.
func parseSeconds(s string) (ms int64, ok bool) {
	whole, fraction, pointed := strings.Cut(s, ".")
	if !allDigits(whole) || pointed && !allDigits(fraction) {
		return 0, false
	}
	for i := range len(whole) {
		if ms = ms*10 + int64(whole[i]-'0'); ms > longestMS/1000 {
			return longestMS, true
		}
	}
	for i := range 3 {
		ms *= 10
		if i < len(fraction) {
			ms += int64(fraction[i] - '0')
		}
	}
	if ms == 0 && strings.Trim(fraction, "0") != "" {
		ms = 1
	}
	return min(ms, longestMS), true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// The three forms of RFC 9110. The last one pads its day with a space or
// with a zero.
const (
	imfFixdate = "Mon, 02 Jan 2006 15:04:05 GMT"
	rfc850     = "Monday, 02-Jan-06 15:04:05 GMT"
	asctime    = "Mon Jan _2 15:04:05 2006"
	asctime0   = "Mon Jan 02 15:04:05 2006"
)

// parseHTTPDate reads a date exactly as the grammar writes it: package time
// would also take fractions of seconds, other case and the wrong weekday, and
// another implementation of this grammar wouldn't.
func parseHTTPDate(s string, at time.Time) (time.Time, bool) {
	for _, layout := range []string{imfFixdate, rfc850, asctime, asctime0} {
		date, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if layout == rfc850 {
			date = inCentury(date, at)
		}
		if date.Format(layout) == s {
			return date, true
		}
	}
	return time.Time{}, false
}

// inCentury reads a year of two digits: what would be more than 50 years
// ahead lies in the past.
func inCentury(date, at time.Time) time.Time {
	at = at.UTC()
	year := at.Year()/100*100 + date.Year()%100
	date = time.Date(year, date.Month(), date.Day(), date.Hour(), date.Minute(), date.Second(), 0, time.UTC)
	switch limit := at.AddDate(50, 0, 0); {
	case date.After(limit):
		return date.AddDate(-100, 0, 0)
	case !date.AddDate(100, 0, 0).After(limit):
		return date.AddDate(100, 0, 0)
	}
	return date
}
