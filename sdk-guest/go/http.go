package taskq

import (
	"fmt"
	"strings"
	"time"
)

// HTTPError is the answer of a server that a handler can't go on with. On its
// own it only reports: the operator's classifiers decide what comes of it.
// [CheckHTTP] decides in the actor instead.
type HTTPError struct {
	Status  int
	Headers map[string]string // names of any case; only what matters, 8 KiB at most
	Message string            // empty: the status alone
}

// Error says the status and the message.
func (e *HTTPError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("HTTP status %d", e.Status)
	}
	return fmt.Sprintf("HTTP status %d: %s", e.Status, e.Message)
}

// TaskqHTTP gives status and headers; see [FailureOf].
func (e *HTTPError) TaskqHTTP() (status int, headers map[string]string) { return e.Status, e.Headers }

// CheckHTTP applies this system's rule to a response: nil below 400; 429 waits
// as long as Retry-After or X-Retry-After says, by [RetryAfter], and is
// [Retryable] where they say nothing; 408, 425 and 500 to 599 are Retryable;
// every other status is [Permanent]. The errors are *[HTTPError] or wrap one.
func CheckHTTP(status int, headers map[string]string) error {
	return checkHTTP(status, headers, time.Now())
}

func checkHTTP(status int, headers map[string]string, at time.Time) error {
	if status < 400 {
		return nil
	}
	err := &HTTPError{Status: status, Headers: headers}
	switch {
	case status == 429:
		if wait, ok := RetryAfterOf(headers, at); ok {
			return fmt.Errorf("%w: %w", err, RetryAfter(wait))
		}
		return Retryable(err)
	case status == 408, status == 425, status >= 500 && status <= 599:
		return Retryable(err)
	}
	return Permanent(err)
}

// RetryAfterOf reads how long a server asked to be left alone: the header
// Retry-After, else X-Retry-After, as seconds with an optional fraction or as
// a date of RFC 9110 after at. Anything else, zero included, is false.
func RetryAfterOf(headers map[string]string, at time.Time) (time.Duration, bool) {
	for _, name := range []string{"Retry-After", "X-Retry-After"} {
		if value, ok := header(headers, name); ok {
			return parseRetryAfter(strings.Trim(value, " \t"), at)
		}
	}
	return 0, false
}

// header finds a header by any spelling; of several the first in byte order,
// so that the answer doesn't depend on a map's order.
func header(headers map[string]string, name string) (value string, ok bool) {
	spelling := ""
	for k, v := range headers {
		if strings.EqualFold(k, name) && len(k) == len(name) && (!ok || k < spelling) {
			spelling, value, ok = k, v, true
		}
	}
	return value, ok
}

func parseRetryAfter(s string, at time.Time) (time.Duration, bool) {
	if wait, ok := parseSeconds(s); ok {
		return wait, wait > 0
	}
	for _, layout := range []string{
		"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", "Mon Jan _2 15:04:05 2006",
	} {
		date, err := time.Parse(layout, s)
		if err == nil && date.After(at) {
			return date.Sub(at), true
		}
	}
	return 0, false
}

// longestMS is what a huge number of seconds becomes.
const longestMS = int64(1<<63-1) / int64(time.Millisecond)

// parseSeconds reads digits or digits.digits, to the millisecond and never
// from something to nothing.
func parseSeconds(s string) (time.Duration, bool) {
	whole, fraction, pointed := strings.Cut(s, ".")
	if !digits(whole) || pointed && !digits(fraction) {
		return 0, false
	}
	var ms int64
	for i := range len(whole) {
		if ms = ms*10 + int64(whole[i]-'0'); ms > longestMS/1000 {
			return time.Duration(longestMS) * time.Millisecond, true
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
	return time.Duration(min(ms, longestMS)) * time.Millisecond, true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
