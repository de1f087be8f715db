package taskq

import (
	"context"
	"io"
	"reflect"
	"strings"
)

// Classes that this package gives.
const (
	classPlain       = "Error"
	classPayload     = "PayloadValidationError"
	classUnencodable = "UnencodableValue"
	classRuntime     = "runtime.Error"
)

// sentinels are errors without a type that are worth a rule of their own.
var sentinels = []struct {
	err  error
	name string
}{
	{context.Canceled, "context.Canceled"},
	{context.DeadlineExceeded, "context.DeadlineExceeded"},
	{io.EOF, "io.EOF"},
	{io.ErrUnexpectedEOF, "io.ErrUnexpectedEOF"},
}

// longestChain bounds how many errors of a chain are looked at: it may be a
// circle, and a joined one doubles at each turn.
const longestChain = 128

// walk visits an error and what it wraps, the wrapper first.
func walk(err error, visit func(error)) {
	left := longestChain
	var step func(error)
	step = func(err error) {
		if err == nil || left == 0 {
			return
		}
		left--
		visit(err)
		switch e := err.(type) { //nolint:errorlint // this is what unwraps
		case interface{ Unwrap() error }:
			step(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				step(inner)
			}
		}
	}
	step(err)
}

// namesOf gives the names of one error, not of what it wraps.
func namesOf(err error) (names []string) {
	if c, ok := err.(interface{ TaskqClass() string }); ok {
		if name := c.TaskqClass(); name != "" {
			names = append(names, name)
		}
	} else if name := typeName(err); name != "" {
		names = append(names, name)
	}
	if a, ok := err.(interface{ TaskqAncestors() []string }); ok {
		names = append(names, a.TaskqAncestors()...)
	}
	if _, ok := err.(interface{ RuntimeError() }); ok {
		names = append(names, classRuntime)
	}
	return names
}

// typeName names an error by its type; empty if it only wraps or has none.
func typeName(err error) string {
	for _, s := range sentinels {
		if err == s.err { //nolint:errorlint // walk visits what err wraps
			return s.name
		}
	}
	switch name := strings.TrimLeft(reflect.TypeOf(err).String(), "*"); name {
	case "errors.errorString", "errors.joinError", "fmt.wrapError", "fmt.wrapErrors", "taskq.marked", "taskq.signal":
		return ""
	default:
		return name
	}
}

// hasOwnType reports whether a panic's value says more than its text.
func hasOwnType(v any) bool {
	err, ok := v.(error)
	if !ok {
		return reflect.TypeOf(v).PkgPath() != ""
	}
	named := false
	walk(err, func(e error) { named = named || len(namesOf(e)) > 0 })
	return named
}

// asError makes a panic's value an error.
func asError(v any) error {
	if err, ok := v.(error); ok {
		return err
	}
	return &Error{Class: strings.TrimLeft(reflect.TypeOf(v).String(), "*"), Message: textOf(v)}
}
