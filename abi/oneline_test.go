package abi_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
)

func TestALineIsOneLineWhateverAGuestPutsIntoIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain, ünïcode 世界":         "plain, ünïcode 世界",
		"a\n[ERROR] forged":         `a\n[ERROR] forged`,
		"\x1b[31mred\x1b[0m\r\ttab": `\x1b[31mred\x1b[0m\r\ttab`,
		"\u202eright to left":       `\u202eright to left`,
		"a\u2028b":                  `a\u2028b`,
		"":                          "",
	} {
		require.Equal(t, want, abi.OneLine(in))
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\nb\x1b[0m\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		out := abi.OneLine(s)
		if strings.ContainsAny(out, "\n\r\x1b\x07\u202e\u2028") || !utf8.ValidString(abi.Repair(out)) {
			t.Fatalf("%q became %q", s, out)
		}
		if abi.OneLine(out) != out {
			t.Fatalf("%q isn't stable", out)
		}
	})
}
