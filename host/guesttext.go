package host

import (
	"regexp"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// lastWords is what the runtime of a guest's language printed as it died.
type lastWords struct {
	message  string
	stack    string
	deadlock bool
}

// speaker reads the last words of one family of languages.
type speaker func(text string) (lastWords, bool)

// Who may have spoken, by how the guest ended. An exit with any other code is
// a choice of the program's, whatever it printed before.
var (
	beforeTrap = []speaker{goPanic, rustPanic, rustAllocation, cAssertion, cppTerminate, zigPanic, scriptThrow, traceback, tinyGoPanic}
	beforeExit = map[uint32][]speaker{
		1:   {traceback, zigError},
		2:   {goPanic, traceback},
		101: {rustPanic},
		134: {cAssertion, cppTerminate, rustAllocation},
		255: {scriptThrow},
	}
)

// hear asks the speakers about stderr and then about stdout, where TinyGo
// prints.
func hear(speakers []speaker, stderr, stdout string) (lastWords, bool) {
	for _, text := range []string{stderr, stdout} {
		if text == "" {
			continue
		}
		for _, speak := range speakers {
			if words, ok := speak(text); ok {
				return words, true
			}
		}
	}
	return lastWords{}, false
}

var goHeading = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// goPanic reads Go's report: the heading's text up to an empty line, then the
// goroutines. Without goroutines it wasn't Go's runtime that printed it.
func goPanic(text string) (lastWords, bool) {
	headings := goHeading.FindAllStringIndex(text, -1)
	for i := len(headings) - 1; i >= 0; i-- {
		message, stack, ok := strings.Cut(text[headings[i][1]:], "\n\n")
		if !ok || !hasGoroutine(stack) {
			continue
		}
		message, _, _ = strings.Cut(message, "\n[signal ")
		return lastWords{
			message:  strings.TrimSpace(message),
			stack:    strings.TrimSpace(stack),
			deadlock: strings.HasPrefix(message, "all goroutines are asleep"),
		}, true
	}
	return lastWords{}, false
}

func hasGoroutine(stack string) bool {
	return strings.HasPrefix(stack, "goroutine ") || strings.HasPrefix(stack, "runtime stack:") ||
		strings.Contains(stack, "\ngoroutine ")
}

var tinyGoHeading = regexp.MustCompile(`(?m)^panic: (.*)$`)

// tinyGoPanic reads the single line that TinyGo prints.
func tinyGoPanic(text string) (lastWords, bool) {
	return lastLine(tinyGoHeading, text)
}

var (
	rustHeading    = regexp.MustCompile(`(?m)^thread '.*' (?:\(\d+\) )?panicked at (.+:\d+:\d+):$`)
	rustHeadingOld = regexp.MustCompile(`(?ms)^thread '[^\n]*' panicked at '(.*?)', (\S+:\d+:\d+)$`)
	rustNote       = regexp.MustCompile(`(?m)^(?:note: |stack backtrace:)`)
)

// rustPanic reads both formats: since 1.73 the message stands on the lines
// after the place, before it stood in quotes before the place.
func rustPanic(text string) (lastWords, bool) {
	if all := rustHeading.FindAllStringSubmatchIndex(text, -1); len(all) > 0 {
		m := all[len(all)-1]
		message := strings.TrimPrefix(text[m[1]:], "\n")
		if note := rustNote.FindStringIndex(message); note != nil {
			message = message[:note[0]]
		}
		return lastWords{message: strings.TrimSpace(message), stack: "at " + text[m[2]:m[3]]}, true
	}
	if all := rustHeadingOld.FindAllStringSubmatch(text, -1); len(all) > 0 {
		m := all[len(all)-1]
		return lastWords{message: m[1], stack: "at " + m[2]}, true
	}
	return lastWords{}, false
}

var rustAllocationLine = regexp.MustCompile(`(?m)^(memory allocation of \d+ bytes failed)`)

func rustAllocation(text string) (lastWords, bool) { return lastLine(rustAllocationLine, text) }

var cAssertionLine = regexp.MustCompile(`(?m)^(?:.*: )?(Assertion failed: .*|.*: Assertion .* failed\.)$`)

func cAssertion(text string) (lastWords, bool) { return lastLine(cAssertionLine, text) }

var cppLine = regexp.MustCompile(`(?m)^(?:libc\+\+abi: (.*)|(.* was thrown in -fno-exceptions mode.*))$`)

func cppTerminate(text string) (lastWords, bool) {
	all := cppLine.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return lastWords{}, false
	}
	m := all[len(all)-1]
	return lastWords{message: m[1] + m[2]}, true
}

var zigPanicLine = regexp.MustCompile(`(?m)^thread \d+ panic: (.*)$`)

func zigPanic(text string) (lastWords, bool) { return lastLine(zigPanicLine, text) }

var zigErrorLine = regexp.MustCompile(`^error: ([A-Z]\w*)$`)

// zigError reads an error that main returned: its name, as the last line.
func zigError(text string) (lastWords, bool) {
	lines := nonEmptyLines(text)
	if len(lines) == 0 {
		return lastWords{}, false
	}
	return lastLine(zigErrorLine, lines[len(lines)-1])
}

var (
	scriptAt  = regexp.MustCompile(`(?m)^(?:abort: )?(.*) at (\S+:\d+:\d+)$`)
	scriptIn  = regexp.MustCompile(`(?m)^abort: (.*) in (\S*\(\d+:\d+\))$`)
	jsFrame   = regexp.MustCompile(`^\s+at .+`)
	jsHeading = regexp.MustCompile(`^(?:Uncaught )?((?:[A-Za-z_$][\w$.]*)?(?:Error|Exception)\b.*)$`)
)

// scriptThrow reads AssemblyScript: its env.abort and its WASI shim differ.
func scriptThrow(text string) (lastWords, bool) {
	for _, shape := range []*regexp.Regexp{scriptIn, scriptAt} {
		all := shape.FindAllStringSubmatch(text, -1)
		if len(all) == 0 {
			continue
		}
		m := all[len(all)-1]
		if jsFrame.MatchString(m[0]) {
			continue
		}
		return lastWords{message: m[1], stack: "at " + m[2]}, true
	}
	return lastWords{}, false
}

const pythonHeading = "Traceback (most recent call last):"

// traceback reads an interpreter's: Python's ends in the error, JavaScript's
// begins with it, Ruby's first line carries it.
func traceback(text string) (lastWords, bool) {
	lines := nonEmptyLines(text)
	if i := strings.LastIndex(text, pythonHeading); i >= 0 {
		if tail := nonEmptyLines(text[i:]); len(tail) > 1 {
			return lastWords{message: tail[len(tail)-1], stack: strings.TrimSpace(text[i:])}, true
		}
	}
	for i := len(lines) - 1; i > 0; i-- {
		if !jsFrame.MatchString(lines[i]) {
			break
		}
		if m := jsHeading.FindStringSubmatch(lines[i-1]); m != nil {
			return lastWords{message: m[1], stack: strings.Join(lines[i:], "\n")}, true
		}
	}
	if m := rubyLine.FindStringSubmatch(text); m != nil {
		return lastWords{message: m[2] + ": " + m[1], stack: strings.TrimSpace(text)}, true
	}
	return lastWords{}, false
}

var rubyLine = regexp.MustCompile("(?m)^\\S+:\\d+:in [`'].*': (.*) \\(([A-Z]\\w*(?:::\\w+)*)\\)$")

func lastLine(shape *regexp.Regexp, text string) (lastWords, bool) {
	all := shape.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return lastWords{}, false
	}
	return lastWords{message: all[len(all)-1][1]}, true
}

func nonEmptyLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// lastLineOf is what a program said last, for the message of its exit.
func lastLineOf(text string) string {
	lines := nonEmptyLines(abi.Tail(text, 4*abi.MaxMessage))
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
