package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/taskq-host/taskq-host/config"
)

// Exit codes. Anything that isn't said otherwise is exitFailed.
const (
	exitOK = iota
	exitFailed
	exitBadInput
	exitNotFound
	exitNoAccess
	exitUnreachable
)

// failure is an error that knows its exit code. A failure without err was
// told to the user already: only the code is left.
type failure struct {
	code int
	what string // what was tried: the command, a file, a field
	err  error  // why it failed
}

func (f *failure) Error() string {
	if f.err == nil {
		return f.what
	}
	if f.what == "" {
		return f.err.Error() // which says by itself what was tried
	}
	return f.what + ": " + f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func badInput(what string, err error) error { return &failure{exitBadInput, what, err} }

func badInputf(what, format string, args ...any) error {
	return badInput(what, fmt.Errorf(format, args...))
}

func failed(what string, err error) error { return &failure{exitFailed, what, err} }

func failedf(what, format string, args ...any) error {
	return failed(what, fmt.Errorf(format, args...))
}

// quietly ends the program with a code and no further word.
func quietly(code int) error { return &failure{code: code} }

// report writes an error as a line on stderr and answers its exit code. A
// configuration that was refused has a line for each thing wrong with it.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var problems config.Errors
	if errors.As(err, &problems) {
		for line := range strings.Lines(problems.Error()) {
			say(stderr, "taskq-host: config: %s\n", oneLine(line))
		}
		return exitBadInput
	}
	code := exitFailed
	var f *failure
	if errors.As(err, &f) {
		code = f.code
		if f.what == "" && f.err == nil {
			return code
		}
	}
	say(stderr, "taskq-host: %s\n", oneLine(err.Error()))
	return code
}

// say prints what nobody misses if it can't be printed; results are printed with
// their errors.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// oneLine keeps a message on its line, and a terminal from obeying it, whatever
// a guest, a server or a file put in it.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(s, unicode.IsControl), " "))
}
