package abi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestRepairReplacesWhatATextColumnRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain text is untouched", "grüße", "grüße"},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"a run of stray bytes is one", "a\xff\xfeb", "a\uFFFDb"},
		{"a cut rune at the end", "a\xc3", "a\uFFFD"},
		{"an encoded surrogate", "a\xed\xa0\x80", "a\uFFFD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, Repair(c.in))
		})
	}
}

func TestCutsEndOnRuneBoundaries(t *testing.T) {
	t.Parallel()
	got, cut := Cut("aü", 2)
	require.Equal(t, "a", got)
	require.True(t, cut)
	got, cut = Cut("aü", 3)
	require.Equal(t, "aü", got)
	require.False(t, cut)
	require.Equal(t, "b", Tail("üb", 2))
	require.Equal(t, "üb", Tail("üb", 3))
	got, cut = Text("\xffa\xff", 3)
	require.Equal(t, "\uFFFD", got)
	require.True(t, cut)
}

func TestRepairJSONMakesWhatJsonbTakes(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("9", 65)
	for _, c := range []struct{ name, in, want string }{
		{"ordinary JSON is untouched", `{"a": [1, -2.5e3, "x\n", true]}`, `{"a": [1, -2.5e3, "x\n", true]}`},
		{"an escaped NUL", `"a\u0000b"`, `"a\ufffdb"`},
		{"an escaped backslash before u0000 is text", `"a\\u0000b"`, `"a\\u0000b"`},
		{"a lone high surrogate", `"\ud83d!"`, `"\ufffd!"`},
		{"a lone low surrogate", `"\ude00"`, `"\ufffd"`},
		{"two high surrogates", `"\ud83d\ud83d"`, `"\ufffd\ufffd"`},
		{"a pair stays", `"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		{"a stray byte", "\"\xff\"", "\"\uFFFD\""},
		{"an enormous exponent becomes a string", `[1e999999]`, `["1e999999"]`},
		{"an exponent that no int holds", `[1e99999999999999999999]`, `["1e99999999999999999999"]`},
		{"a very long numeral becomes a string", big, `"` + big + `"`},
		{"also as a member", `{"\u0000":1}`, `{"\ufffd":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := RepairJSON([]byte(c.in))
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestRepairJSONRefusesWhatIsNoJSONOrTooDeep(t *testing.T) {
	t.Parallel()
	_, err := RepairJSON([]byte(`{"a":`))
	require.Error(t, err)
	_, err = RepairJSON([]byte(strings.Repeat("[", 101) + strings.Repeat("]", 101)))
	require.ErrorContains(t, err, "deeper")
	_, err = RepairJSON([]byte(strings.Repeat("[", 100) + strings.Repeat("]", 100)))
	require.NoError(t, err)
}

func FuzzText(f *testing.F) {
	f.Add("a\x00b\xff", 2)
	f.Add("grüße", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n &= 0xff
		got, cut := Text(s, n)
		require.LessOrEqual(t, len(got), n)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
		if !cut {
			require.Equal(t, Repair(s), got)
		}
		require.LessOrEqual(t, len(Tail(s, n)), max(n, 0))
		require.True(t, strings.HasSuffix(s, Tail(s, n)))
	})
}

func FuzzRepairJSON(f *testing.F) {
	for _, s := range []string{`{"a":"\ud83d\u0000"}`, `[1e400,-0.5]`, "\"\xed\xa0\x80\"", `"\\u0000"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := RepairJSON(raw)
		if err != nil {
			return
		}
		require.True(t, json.Valid(got))
		require.True(t, utf8.Valid(got))
		again, err := RepairJSON(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "repairing twice changes nothing")
		var v any
		require.NoError(t, json.Unmarshal(got, &v), "every reader takes it")
		if s, ok := v.(string); ok {
			require.NotContains(t, s, "\x00")
		}
	})
}
