package plugins

import (
	"fmt"
	"slices"
	"strings"
)

// statuses are those that a job may end with.
var statuses = []string{"succeeded", "failed", "cancelled", "crashed", "abandoned"}

// Expect is how a job must end. What is empty isn't looked at.
type Expect struct {
	Status     string   `json:"status"`
	Attempt    int      `json:"attempt"` // the number of the last one
	ErrorClass string   `json:"error_class,omitempty"`
	Ancestors  []string `json:"ancestors,omitempty"` // all of these, among others
	Message    string   `json:"message,omitempty"`   // a part of it
	DecidedBy  string   `json:"decided_by,omitempty"`
}

// Ending is how a job ended.
type Ending struct {
	Status     string
	Attempt    int
	ErrorClass string
	Ancestors  []string
	Message    string
	DecidedBy  string
}

// Differences says where an ending isn't the expected one, a sentence each;
// nil if it is.
func (e *Expect) Differences(got Ending) []string {
	var all []string
	differ := func(field string, want, got any) {
		all = append(all, fmt.Sprintf("%s should be %v, is %v", field, want, got))
	}
	if got.Status != e.Status {
		differ("status", e.Status, got.Status)
	}
	if got.Attempt != e.Attempt {
		differ("attempt", e.Attempt, got.Attempt)
	}
	if e.ErrorClass != "" && got.ErrorClass != e.ErrorClass {
		differ("error_class", e.ErrorClass, got.ErrorClass)
	}
	if e.DecidedBy != "" && got.DecidedBy != e.DecidedBy {
		differ("decided_by", e.DecidedBy, got.DecidedBy)
	}
	for _, a := range e.Ancestors {
		if !slices.Contains(got.Ancestors, a) {
			differ("ancestors", "with "+a, got.Ancestors)
		}
	}
	if !strings.Contains(got.Message, e.Message) {
		differ("message", fmt.Sprintf("with %q", e.Message), fmt.Sprintf("%q", got.Message))
	}
	return all
}
