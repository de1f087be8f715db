package taskq

import (
	"encoding/json"
	"slices"
	"strings"
)

// Failure is the ABI's failure record.
type Failure struct {
	Class     string          `json:"class"`
	Ancestors []string        `json:"ancestors,omitempty"` // from specific to general
	Message   string          `json:"message"`
	Permanent bool            `json:"permanent,omitempty"`
	Retryable bool            `json:"retryable,omitempty"`
	HTTP      *HTTP           `json:"http,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
	Stack     string          `json:"stack,omitempty"`
	Cause     *Failure        `json:"cause,omitempty"`

	// What the host adds, for classifiers; it ignores them from a guest.
	Origin   string `json:"origin,omitempty"` // guest, trap, exit, limit, host
	ExitCode *int   `json:"exit_code,omitempty"`
	Trap     string `json:"trap,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	PreActor bool   `json:"pre_actor,omitempty"`
}

// HTTP is the response that a failure reports.
type HTTP struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// The limits that the host would cut at. Cutting here keeps the guest from
// encoding what is dropped anyway.
const (
	maxMessage   = 4 << 10
	maxStack     = 64 << 10
	maxDetails   = 16 << 10
	maxAncestors = 32
)

// FailureOf makes the record of an error, as [Handle] reports it.
//
// It walks the chain of errors.Unwrap, the members of a joined error in their
// order. Each error with a type of its own gives a name: what its
// TaskqClass() string returns, else its type as Go prints it without the
// pointer (stripe.CardDeclined, net.OpError); context.Canceled,
// context.DeadlineExceeded, io.EOF and io.ErrUnexpectedEOF go by these names.
// The first name is the class; the others are its ancestors, each followed by
// what its TaskqAncestors() []string returns. Errors of package errors and of
// fmt.Errorf only wrap. Where nobody has a name the class is Error.
//
// An error whose Timeout() bool says so has the ancestor TimeoutError.
// TaskqHTTP() (status int, headers map[string]string) and TaskqDetails() any
// fill in the rest; of several the first that isn't empty counts.
func FailureOf(err error) *Failure {
	f := &Failure{Message: cut(err.Error(), maxMessage)}
	var names []string
	decided, timedOut := undecided, false
	walk(err, func(e error) {
		names = append(names, namesOf(e)...)
		if v, ok := e.(interface{ verdict() verdict }); ok && decided == undecided {
			decided = v.verdict()
		}
		if h, ok := e.(interface {
			TaskqHTTP() (int, map[string]string)
		}); ok && f.HTTP == nil {
			if status, headers := h.TaskqHTTP(); status != 0 {
				f.HTTP = &HTTP{Status: status, Headers: headers}
			}
		}
		if t, ok := e.(interface{ Timeout() bool }); ok && t.Timeout() {
			timedOut = true
		}
		if d, ok := e.(interface{ TaskqDetails() any }); ok && f.Details == nil {
			f.Details = detailsOf(d.TaskqDetails())
		}
	})
	if timedOut {
		names = append(names, "TimeoutError")
	}
	f.Class, f.Ancestors = split(names)
	f.Permanent, f.Retryable = decided == permanent, decided == retryable
	return f
}

// split makes the first name the class and the rest its ancestors.
func split(names []string) (class string, ancestors []string) {
	if len(names) == 0 {
		return classPlain, nil
	}
	class = names[0]
	for _, name := range names[1:] {
		if name != class && !slices.Contains(ancestors, name) && len(ancestors) < maxAncestors {
			ancestors = append(ancestors, name)
		}
	}
	return class, ancestors
}

func detailsOf(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > maxDetails {
		return nil // the failure matters more than its details
	}
	return raw
}

// record encodes the failure.
func (f *Failure) record() []byte {
	raw, err := json.Marshal(f)
	if err != nil {
		raw, _ = json.Marshal(&Failure{Class: f.Class, Message: f.Message})
	}
	return raw
}

// cut shortens s to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
