package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/config"
)

func TestATableAlignsAndOnATerminalColoursAndCuts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tab := newTable(&out, "NAME", "STATUS", "MESSAGE")
	tab.row("größe", "failed", "a message that is long")
	tab.row("b", "succeeded", "")
	require.NoError(t, tab.flush())
	require.Equal(t, "NAME   STATUS     MESSAGE\ngröße  failed     a message that is long\nb      succeeded\n", out.String())

	out.Reset()
	tab = newTable(&out)
	tab.color, tab.limit = true, 20
	tab.row("b", "failed", "a message that is long")
	require.NoError(t, tab.flush())
	require.Equal(t, "b  \x1b[31mfailed\x1b[0m  a messag…\n", out.String(), "20 columns")
}

func TestATerminalNeverGetsWhatAGuestSaysAsOrders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := oneLine(rapid.String().Draw(t, "text"))
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("%q", line)
		}
	})
	require.Equal(t, "one two [31m", oneLine("one\r\n\ttwo\x1b[31m\n"))
}

func TestABarIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newBar(&out, "push", 10)
	b.add(5)
	b.clear()
	require.Empty(t, out.String())

	b.out = &out
	b.add(5)
	b.add(50) // more than there is
	b.clear()
	require.Equal(t, "\rpush [###############...............]  50%\rpush [##############################] 100%\r\x1b[K", out.String())
}

func TestTheNearestNameIsNearEnoughToBeMeant(t *testing.T) {
	t.Parallel()
	known := []string{"list", "show", "watch"}
	require.Equal(t, "list", nearest("lst", known))
	require.Equal(t, "watch", nearest("Watch", known))
	require.Empty(t, nearest("purge", known))
	require.Empty(t, nearest(strings.Repeat("l", 1000), known))
}

func TestAnErrorIsReportedAsItsLineAndCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		code int
		says string
	}{
		{"none", nil, exitOK, ""},
		{"one without a code", errors.New("broke"), exitFailed, "taskq-host: broke\n"},
		{"one that was told already", quietly(exitNotFound), exitNotFound, ""},
		{"bad input", badInputf("--x", "is wrong"), exitBadInput, "taskq-host: --x: is wrong\n"},
		{"several lines of somebody else's", failed("pg", errors.New("a\n\tb\x1b[0m")), exitFailed, "taskq-host: pg: a b [0m\n"},
		{"the first of joined ones has the code", errors.Join(badInputf("a", "b"), failedf("c", "d")), exitBadInput, "taskq-host: a: b c: d\n"},
		{"a configuration, a line for each key", config.Errors{{Path: "a", Rule: "b"}, {Path: "c", Rule: "d"}}, exitBadInput, "taskq-host: config: a: b\ntaskq-host: config: c: d\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.Equal(t, c.code, report(&out, c.err))
			require.Equal(t, c.says, out.String())
		})
	}
}
