package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/abi"
)

func TestTailKeepsTheEndHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		kept := tail{limit: limit}
		var all []byte
		for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 50)).Draw(t, "writes") {
			kept.write(p)
			all = append(all, p...)
			require.LessOrEqual(t, len(kept.buf), 2*limit)
		}
		require.Equal(t, string(all[max(0, len(all)-limit):]), kept.text())
	})
}

func TestTailIsRepairedWithinItsLimit(t *testing.T) {
	t.Parallel()
	kept := tail{limit: 4}
	kept.write([]byte("aü\xff\xffü"))
	require.LessOrEqual(t, len(kept.text()), 4)
	require.Equal(t, "\uFFFD", abi.Repair("\xff"))
}

// spoken is what a stream made of its bytes.
type spoken struct {
	lines, controls []string
	end             string
}

func speakThrough(pieces [][]byte, control bool) spoken {
	var out spoken
	s := stream{end: tail{limit: 1 << 20}, emit: func(line []byte) { out.lines = append(out.lines, string(line)) }}
	if control {
		s.control = func(text []byte) bool {
			if !bytes.HasPrefix(text, []byte("{")) {
				return false
			}
			out.controls = append(out.controls, string(text))
			return true
		}
	}
	for _, p := range pieces {
		s.write(p)
	}
	s.flush()
	out.end = s.end.text()
	return out
}

func TestAStreamIsTheSameHoweverItIsCut(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"@taskq ", "@taskq {x}", "@task", "\n", "\r\n", "a", "{", strings.Repeat("y", 9000), "ü", " "})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, "words"), ""))
		control := rapid.Bool().Draw(t, "control")
		whole := speakThrough([][]byte{text}, control)
		var pieces [][]byte
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 5000)).Draw(t, "n")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, whole, speakThrough(pieces, control))
		for _, line := range whole.lines {
			require.LessOrEqual(t, len(line), max(abi.MaxLogLine, maxControlLine))
			require.NotContains(t, line, "\n")
		}
		if !control {
			require.Equal(t, string(text), whole.end)
		}
	})
}

func TestOrdinaryTextIsNeverHeldBack(t *testing.T) {
	t.Parallel()
	s := stream{end: tail{limit: 100}, emit: func([]byte) {}, control: func([]byte) bool { return true }}
	s.write([]byte("@taskx"))
	require.Equal(t, "@taskx", s.end.text(), "a guest that dies now has said it")
	s.write([]byte("\n@task"))
	require.Equal(t, "@taskx\n", s.end.text())
	s.flush()
	require.Equal(t, "@taskx\n@task", s.end.text())
}
