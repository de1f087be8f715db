package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// Repair makes s fit for storage: NUL and every run of bytes that aren't UTF-8 become
// U+FFFD. A text column of Postgres takes neither, and a guest may print both.
// A string that needs nothing is returned as it is.
func Repair(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return strings.ToValidUTF8(s, replacement)
}

// Cut returns at most the first n bytes of s, ending on a rune boundary, and
// whether anything was cut.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// Tail returns at most the last n bytes of s, beginning on a rune boundary.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - max(n, 0)
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// Text repairs s and cuts it to n bytes; it reports whether it cut. What was
// already cut is repaired at most n bytes long, so a hostile length costs
// nothing.
func Text(s string, n int) (string, bool) {
	head, cut := Cut(s, n)
	head, again := Cut(Repair(head), n)
	return head, cut || again
}

// MaxJSONDepth is how deep arrays and objects of a record may nest. Postgres
// and every reader behind it recurse.
const MaxJSONDepth = 100

// Longest numeral and largest power of ten that every reader takes: float64
// ends at 308, and numeric of Postgres somewhat later with an error.
const (
	maxNumeral  = 64
	maxExponent = 300
)

var (
	errNotJSON  = errors.New("not valid JSON")
	errTooDeep  = errors.New("JSON nested deeper than " + strconv.Itoa(MaxJSONDepth) + " levels")
	replacedEsc = []byte(`\ufffd`)
)

// RepairJSON returns raw so that a jsonb column takes it: invalid UTF-8,
// \u0000 and lone surrogates become U+FFFD, and a numeral beyond what numeric
// and float64 hold becomes a string. The result may share raw's memory.
func RepairJSON(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	out := make([]byte, 0, len(raw)+16)
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := stringEnd(raw, i)
			out = appendRepaired(out, raw[i:end])
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := numeralEnd(raw, i)
			out = appendNumeral(out, raw[i:end])
			i = end
		default:
			switch c {
			case '{', '[':
				if depth++; depth > MaxJSONDepth {
					return nil, errTooDeep
				}
			case '}', ']':
				depth--
			}
			out = append(out, c)
			i++
		}
	}
	return out, nil
}

// stringEnd gives the index after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func numeralEnd(raw []byte, i int) int {
	for i < len(raw) && strings.IndexByte("+-.0123456789eE", raw[i]) >= 0 {
		i++
	}
	return i
}

func appendNumeral(out, numeral []byte) []byte {
	fits := len(numeral) <= maxNumeral
	if e := bytes.IndexAny(numeral, "eE"); fits && e >= 0 {
		exponent, err := strconv.Atoi(string(numeral[e+1:]))
		fits = err == nil && exponent >= -maxExponent && exponent <= maxExponent-maxNumeral
	}
	if fits {
		return append(out, numeral...)
	}
	out = append(out, '"')
	out = append(out, numeral...)
	return append(out, '"')
}

// appendRepaired copies one valid JSON string, quotes included.
func appendRepaired(out, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			n, ok := escape(s[i:])
			if ok {
				out = append(out, s[i:i+n]...)
			} else {
				out = append(out, replacedEsc...)
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n == 1 {
			out = append(out, replacement...)
		} else {
			out = append(out, s[i:i+n]...)
		}
		i += n
	}
	return out
}

// escape measures the escape at the beginning of s and says whether a text
// column can hold what it stands for. A proper surrogate pair is one escape.
func escape(s []byte) (n int, ok bool) {
	if s[1] != 'u' {
		return 2, true
	}
	r := hex4(s[2:])
	switch {
	case r == 0:
		return 6, false
	case r < 0xd800 || r > 0xdfff:
		return 6, true
	case r >= 0xdc00: // a low half without its high one
		return 6, false
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low := hex4(s[8:]); low >= 0xdc00 && low <= 0xdfff {
			return 12, true
		}
	}
	return 6, false
}

func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
