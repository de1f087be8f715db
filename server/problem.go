package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// Problem is an answer that says what is wrong, after RFC 9457.
type Problem struct {
	Type     string       `json:"type,omitempty" format:"uri-reference" doc:"What kind of problem it is; about:blank where the status says it all."`
	Title    string       `json:"title" example:"Unprocessable Entity" doc:"The status in words."`
	Status   int          `json:"status" example:"422" doc:"The HTTP status."`
	Detail   string       `json:"detail,omitempty" example:"the request breaks a rule" doc:"What went wrong this time, in a sentence."`
	Instance string       `json:"instance,omitempty" format:"uri-reference" doc:"Of a fault of the host's own: the id under which its log tells more."`
	Errors   []FieldError `json:"errors,omitempty" doc:"Each rule that doesn't hold, with its place. Never the content of a payload."`

	retryAfter int // seconds; 0: none
	challenge  bool
}

// FieldError is one rule that doesn't hold.
type FieldError struct {
	Location string `json:"location" example:"body.retry.base" doc:"Where: the body, a query or path parameter, or a header, down to the field."`
	Rule     string `json:"rule" example:"must be > 0" doc:"What must hold; for a module that was refused, the rule's stable name."`
	Message  string `json:"message,omitempty" doc:"More, where the rule alone doesn't say it."`
}

// Error implements error.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Detail
}

// GetStatus makes a Problem an error that huma answers as it is.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives the media type of problems.
func (p *Problem) ContentType(string) string { return problemType }

// GetHeaders gives the headers that go with the status.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.challenge {
		h.Set("WWW-Authenticate", `Bearer realm="taskq"`)
	}
	return h
}

const problemType = "application/problem+json"

func problem(status int, detail string, errs ...FieldError) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: errs}
}

// write answers with the problem, outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	// A client that is gone can't be told.
	_ = json.NewEncoder(w).Encode(p)
}

// huma is told both by variables of its own. Its error model repeats the value
// that it refused, which an answer of ours must not; and no list of ours is
// ever null.
func init() {
	huma.DefaultArrayNullable = false
	validation.MsgExpectedRFC4122UUID = "must be a UUID%.0s" // without its reason, such as a length
	validation.MsgExpectedOneOf = "must be one of %s"
	validation.MsgExpectedMinimumNumber = "must be at least %v"
	validation.MsgExpectedMaximumNumber = "must be at most %v"
	validation.MsgExpectedMatchPattern = "must match %s"
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		p := problem(status, detail)
		for _, err := range errs {
			if d := huma.ErrorDetailer(nil); errors.As(err, &d) {
				p.Errors = append(p.Errors, FieldError{Location: d.ErrorDetail().Location, Rule: d.ErrorDetail().Message})
			}
		}
		if status == http.StatusUnprocessableEntity {
			p.Detail = detailRule
		}
		return p
	}
}

const detailRule = "the request breaks a rule; nothing was changed"

// fault is a rule that a request breaks, on its way to a Problem.
type fault struct {
	FieldError
	status int // 0: 422
}

func (f fault) under(prefix string) fault {
	f.Location = join(prefix, f.Location)
	return f
}

func join(at, field string) string {
	if at == "" || field == "" || strings.HasPrefix(field, "[") {
		return at + field
	}
	return at + "." + field
}

// maxErrors bounds an answer: the thousandth says no more than the hundredth.
const maxErrors = 100

// refused makes one Problem of faults.
func refused(faults []fault) *Problem {
	p := problem(http.StatusUnprocessableEntity, detailRule)
	for _, f := range faults {
		if f.status == http.StatusRequestEntityTooLarge {
			p.Status, p.Title = f.status, http.StatusText(f.status)
		}
		if len(p.Errors) < maxErrors {
			p.Errors = append(p.Errors, f.FieldError)
		}
	}
	return p
}

func invalid(location, rule string) *Problem {
	return problem(http.StatusUnprocessableEntity, detailRule, FieldError{Location: location, Rule: rule})
}

var errNotHere = problem(http.StatusNotFound, "there is no such thing, or it isn't yours")
