package abi

import (
	"strconv"
	"strings"
	"unicode"
)

// OneLine makes s fit for a line of a log or a terminal: what isn't printed as
// itself (line ends, escapes, marks that turn the direction of writing) is
// spelled out, as \n or \x1b. Else a guest could write lines that look like the
// host's own, or take over the terminal of whoever reads them.
func OneLine(s string) string {
	if strings.IndexFunc(s, spelledOut) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if spelledOut(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func spelledOut(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }
