package classify

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/taskq-host/taskq-host/retry"
)

// FailureTaxonomy is the name of the built-in classifier that tells transient
// failures from permanent ones by their names and HTTP statuses.
const FailureTaxonomy = "builtin:failure_taxonomy"

// failureTaxonomy never answers indefinite, and leaves 429 to
// [RateLimitAware].
type failureTaxonomy struct {
	transient    statuses
	nonRetryable statuses
	include      names
	exclude      names
	bySuffix     bool
}

// families are the classes whose descendants are transient.
var families = namesOf([]string{"ConnectionError", "TimeoutError"})

var transientNames = []string{
	"ReadTimeout", "ConnectTimeout", "ServerTimeoutError", "ReadTimeoutError", "ConnectTimeoutError",
}

func newFailureTaxonomy(raw json.RawMessage) (Classifier, error) {
	b := readBlock(raw)
	t := &failureTaxonomy{
		transient:    readStatuses(b, "transient_status", defaultTransient),
		nonRetryable: readStatuses(b, "non_retryable_status", defaultNonRetryable),
		include:      readNames(b, "include_names", transientNames),
		exclude:      readNames(b, "exclude_names", nil),
	}
	b.read("infer_timeout_by_suffix", "true or false", &t.bySuffix)
	return t, b.done()
}

func (*failureTaxonomy) Name() string { return FailureTaxonomy }

// Claims is for [Ladder.Warnings].
func (*failureTaxonomy) Claims() []retry.Kind {
	return []retry.Kind{retry.Transient, retry.NonRetryable}
}

func (t *failureTaxonomy) Classify(_ context.Context, q Question) (*Override, error) {
	f := q.Failure
	if f == nil || anyName(f, t.exclude.has) {
		return nil, nil
	}
	status := 0
	if f.HTTP != nil {
		status = f.HTTP.Status
	}
	switch {
	case anyName(f, t.isTransient) || t.transient.has(status):
		return &Override{Kind: retry.Transient}, nil
	case t.nonRetryable.has(status):
		return &Override{Kind: retry.NonRetryable}, nil
	}
	return nil, nil
}

func (t *failureTaxonomy) isTransient(name string) bool {
	return families.has(name) || t.include.has(name) ||
		t.bySuffix && (strings.HasSuffix(name, "Timeout") || strings.HasSuffix(name, "TimeoutError"))
}

// statuses is a set of HTTP statuses.
type statuses [1000]bool

func (s *statuses) has(status int) bool {
	return status >= 0 && status < len(s) && s[status]
}

// The HTTP rule of the whole system: 408, 425 and 5xx are transient, 429
// waits for the server, every other 4xx is permanent.
func defaultTransient(status int) bool {
	return status == 408 || status == 425 || status >= 500 && status <= 599
}

func defaultNonRetryable(status int) bool {
	return status >= 400 && status <= 499 && status != 408 && status != 425 && status != 429
}

// readStatuses reads a set that replaces its default as a whole: statuses, and
// ranges of them such as "500-599".
func readStatuses(b *block, key string, byDefault func(int) bool) (out statuses) {
	const want = `a list of HTTP statuses, 100..999, or ranges such as "500-599"`
	var list []json.RawMessage
	if !b.read(key, want, &list) {
		for i := range out {
			out[i] = byDefault(i)
		}
		return out
	}
	for _, item := range list {
		first, last, ok := readRange(item)
		if !ok || first < 100 || last >= len(out) || first > last {
			b.refuse(key, "must be "+want)
			continue
		}
		for status := first; status <= last; status++ {
			out[status] = true
		}
	}
	return out
}

func readRange(item json.RawMessage) (first, last int, ok bool) {
	if json.Unmarshal(item, &first) == nil && !bytes.Equal(item, []byte("null")) {
		return first, first, true
	}
	var text string
	if json.Unmarshal(item, &text) != nil {
		return 0, 0, false
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	return first, last, err == nil && err2 == nil
}

func readNames(b *block, key string, byDefault []string) names {
	const want = "a list of names"
	var list []string
	if !b.read(key, want, &list) {
		return namesOf(byDefault)
	}
	if slices.Contains(list, "") {
		b.refuse(key, "must be "+want+", none of them empty")
	}
	return namesOf(list)
}
