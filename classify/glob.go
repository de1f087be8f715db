package classify

import (
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/abi"
)

// Glob reports whether the whole of name matches the pattern: * is any text,
// dots included, ? is exactly one character, and everything else is itself,
// case and brackets included. It takes at most len(pattern)·len(name) steps,
// whatever a stranger writes.
func Glob(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // after the last *, and where in name it was tried
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			star, mark = p, n
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(name[n:])
			p, n = p+1, n+size
		case p < len(pattern) && pattern[p] == name[n]:
			p, n = p+1, n+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(name[mark:])
			mark += size
			p, n = star, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// timeoutAlias is the name that other systems have for an attempt's timeout;
// written as a pattern it means ours.
const timeoutAlias = "TIMEOUT"

// firstMatch gives the first pattern that matches the failure's class or one
// of its ancestors.
func firstMatch(patterns []string, f *abi.Failure) (string, bool) {
	for _, p := range patterns {
		if matchesClass(p, f.Class) {
			return p, true
		}
		for _, a := range f.Ancestors {
			if matchesClass(p, a) {
				return p, true
			}
		}
	}
	return "", false
}

func matchesClass(pattern, class string) bool {
	return Glob(pattern, class) || pattern == timeoutAlias && class == abi.ClassTimeout
}
