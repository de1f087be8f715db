package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// encoding/json takes ACTOR for actor, and the last of two fields of one name.
// These split JSON that was found valid before, exactly and without copying.

// member is one field of an object.
type member struct {
	name string
	raw  []byte // its value
}

var (
	errNotObject = errors.New("must be a JSON object")
	errNotArray  = errors.New("must be a JSON array")
)

// checkJSON says where a text stops being JSON, without repeating any of it.
func checkJSON(text []byte) error {
	if json.Valid(text) {
		return nil
	}
	var syntax *json.SyntaxError
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); errors.As(err, &syntax) {
		return fmt.Errorf("must be valid JSON; it stops being that at byte %d", syntax.Offset)
	}
	return errors.New("must be valid JSON")
}

// members splits a valid object. A name that is there twice is an error.
func members(raw []byte) ([]member, error) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil, errNotObject
	}
	var out []member
	seen := map[string]bool{}
	for i = skipSpace(raw, i+1); raw[i] != '}'; {
		end := stringEnd(raw, i)
		var name string
		if err := json.Unmarshal(raw[i:end], &name); err != nil {
			return nil, errNotObject
		}
		if seen[name] {
			return nil, fmt.Errorf("the field %s is there twice", quoteShort(name))
		}
		seen[name] = true
		i = skipSpace(raw, skipSpace(raw, end)+1) // past the colon
		end = valueEnd(raw, i)
		out = append(out, member{name, raw[i:end]})
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return out, nil
}

// elements splits a valid array.
func elements(raw []byte) ([][]byte, error) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return nil, errNotArray
	}
	var out [][]byte
	for i = skipSpace(raw, i+1); raw[i] != ']'; {
		end := valueEnd(raw, i)
		out = append(out, raw[i:end])
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return out, nil
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd gives the index after the value that begins at i.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = stringEnd(raw, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 { // of what the value stands in
					return i
				}
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// quoteShort quotes a name of the caller's for an answer, bounded.
func quoteShort(s string) string {
	const most = 64
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return fmt.Sprintf("%q", s)
}
