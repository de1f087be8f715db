package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

var logTime = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// still is an engine whose clock stands still, so that no token comes back.
func still(t *testing.T) *host.Engine {
	return newEngine(t, host.Options{Clock: func() time.Time { return logTime }})
}

func TestALogLineIsRepairedAndItsJSONBecomesFields(t *testing.T) {
	t.Parallel()
	m := load(t, still(t), "log")
	for _, c := range []struct {
		name, in, message string
		fields            map[string]any
	}{
		{"text", "hello", "hello", nil},
		{"repaired", "a\x00b\xff", "a\uFFFDb\uFFFD", nil},
		{"an object", `{"message":"m","n":12345678901234567890}`, "m", map[string]any{"n": json.Number("12345678901234567890")}},
		{"msg too", `{"msg":"m\u0000"}`, "m\uFFFD", map[string]any{}},
		{"an object without message", `{"a":[1,"\ud800"]}`, "", map[string]any{"a": []any{json.Number("1"), "\uFFFD"}}},
		{"a broken object is text", `{"a":`, `{"a":`, nil},
		{"the level stays the import's", `{"level":"error"}`, "", map[string]any{"level": "error"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &sink{}
			out := m.Run(context.Background(), host.Attempt{Sink: s, Input: []byte(c.in)})
			require.Equal(t, host.Succeeded, out.Kind)
			require.Equal(t, []abi.LogLine{{At: logTime, Level: abi.LevelWarn, Message: c.message, Fields: c.fields}}, s.lines)
		})
	}
}

func TestALogFloodIsBoundedInBytesAndLines(t *testing.T) {
	t.Parallel()
	m := load(t, still(t), "log-flood")
	s := &sink{}
	out := m.Run(context.Background(), host.Attempt{Sink: s})
	require.Equal(t, host.Succeeded, out.Kind)
	require.Len(t, s.lines, abi.MaxLogBytes/abi.MaxLogLine, "bytes come first: each line is cut to the longest")
	require.EqualValues(t, abi.MaxLogBytes, out.Usage.LogBytes)
	require.EqualValues(t, 10_000-len(s.lines), out.Usage.LogDropped)
	for _, line := range s.lines {
		require.Len(t, line.Message, abi.MaxLogLine)
	}

	s = &sink{}
	out = m.Run(context.Background(), host.Attempt{Sink: s, Limits: host.Limits{LogBytes: 1 << 30, LogPerSec: 7}})
	require.Len(t, s.lines, 7)
	require.EqualValues(t, 10_000-7, out.Usage.LogDropped)
}

func TestStdioLinesOfAReactorAreLogged(t *testing.T) {
	t.Parallel()
	s := &sink{}
	long := strings.Repeat("ü", abi.MaxLogLine)
	run(t, "last-words", host.Attempt{Sink: s, Input: []byte("one\n\n" + long + "\ntwo")})
	require.Len(t, s.lines, 3, "an empty line says nothing")
	require.Equal(t, "one", s.lines[0].Message)
	require.Equal(t, map[string]any{"stream": "stderr"}, s.lines[0].Fields)
	require.LessOrEqual(t, len(s.lines[1].Message), abi.MaxLogLine)
	require.True(t, utf8.ValidString(s.lines[1].Message))
	require.Equal(t, "two", s.lines[2].Message)
}

func TestProgressIsAnObjectOfBoundedSize(t *testing.T) {
	t.Parallel()
	m := load(t, still(t), "progress")
	s := &sink{}
	a := host.Attempt{Sink: s, Input: []byte(`{"percent":50,"detail":"\u0000"}`)}
	require.Equal(t, host.Succeeded, m.Run(context.Background(), a).Kind)
	require.Equal(t, []string{`{"percent":50,"detail":"\ufffd"}`}, s.progress)
	for in, want := range map[string]string{
		`[1]`: "-4", `nope`: "-4", `"x"`: "-4", ``: "-4",
		`{"data":"` + strings.Repeat("x", abi.MaxProgress) + `"}`: "-3",
	} {
		out := m.Run(context.Background(), host.Attempt{Sink: s, Input: []byte(in)})
		require.Equal(t, "entry returned "+want, out.Failure.Message)
	}
	require.Len(t, s.progress, 1)
}
