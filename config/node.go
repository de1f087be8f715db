package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// node is one key of the schema: a section with keys of its own, a map from
// names that the user chooses, or a leaf.
type node struct {
	key string
	doc string

	children []*node // of a section
	each     *node   // of a map: what stands under each name
	nameRule string  // of a map: what a name stands for

	typ     *valueType // of a leaf
	builtin string     // as one writes it; "" where there is no default
	shown   string     // documentation of the default where there is none
	example string     // for the documentation, where builtin is none or missing
	none    bool       // none is allowed
	rules   []rule
	secret  bool // its value is redacted in everything that is shown
	restart bool // a change takes effect at the next start only

	others []other // other names for this section's keys
}

// rule is a condition on one value.
type rule struct {
	text  string // for people: "1..32766"; prefixed with "must be"
	holds func(v any) bool
}

// other is another name for a key of the section, or of a section beside it.
type other struct {
	name    string
	section string // "" for the section it is written in
	key     string
	convert func(v any, text bool) (any, string) // nil keeps the value
	doc     string
}

func (n *node) child(key string) *node {
	for _, c := range n.children {
		if c.key == key {
			return c
		}
	}
	return nil
}

func (n *node) leaf() bool { return n.typ != nil }

// find descends by keys; a map's names match anything.
func (n *node) find(p path) *node {
	for _, key := range p {
		switch {
		case n == nil:
			return nil
		case n.each != nil:
			n = n.each
		default:
			n = n.child(key)
		}
	}
	return n
}

// walk calls f for every node below n, parents first, with <name> in place of
// the names that users choose.
func (n *node) walk(p path, f func(p path, n *node)) {
	for _, c := range n.children {
		f(p.with(c.key), c)
		c.walk(p.with(c.key), f)
	}
	if n.each != nil {
		f(p.with("<"+n.nameRule+">"), n.each)
		n.each.walk(p.with("<"+n.nameRule+">"), f)
	}
}

func section(key, doc string, children ...*node) *node {
	return &node{key: key, doc: doc, children: children}
}

// named is a map whose keys the user chooses; what is the word for such a key.
func named(key, what, doc string, each *node) *node {
	return &node{key: key, doc: doc, nameRule: what, each: each}
}

func leaf(key string, typ *valueType, builtin, doc string, rules ...rule) *node {
	return &node{key: key, typ: typ, builtin: builtin, doc: doc, rules: rules}
}

// Each of these sets one property and returns the node.
func (n *node) orNone() *node             { n.none = true; return n }
func (n *node) isSecret() *node           { n.secret = true; return n }
func (n *node) atStart() *node            { n.restart = true; return n }
func (n *node) defaultsTo(s string) *node { n.shown = s; return n }
func (n *node) eg(s string) *node         { n.example = s; return n }
func (n *node) also(o ...other) *node     { n.others = append(n.others, o...); return n }

// ruleText is every rule of a leaf in one phrase.
func (n *node) ruleText() string {
	var all []string
	for _, r := range n.rules {
		all = append(all, r.text)
	}
	return strings.Join(all, ", ")
}

// parse reads a value of a leaf, or says which rule it broke.
func (n *node) parse(v any, text bool) (any, string) {
	if v == nil {
		rule := "has no value; leave the key out to inherit"
		if n.none {
			rule += ", or say none to switch it off"
		}
		return nil, rule
	}
	if n.none && v == none {
		return n.typ.zero, ""
	}
	value, broken := n.typ.read(v, text)
	if broken != "" {
		if n.none {
			broken += ", or none"
		}
		return nil, broken
	}
	for _, r := range n.rules {
		if !r.holds(value) {
			return nil, "must be " + r.text
		}
	}
	return value, ""
}

// show writes a parsed value as its author would, secrets redacted.
func (n *node) show(v any) any {
	if n.none && isZero(v) {
		return none
	}
	if n.secret {
		if s, ok := v.(string); ok {
			return redact(s)
		}
	}
	switch v := v.(type) {
	case time.Duration:
		return FormatDuration(v)
	case fmt.Stringer:
		return v.String()
	}
	return v
}

func isZero(v any) bool {
	switch v := v.(type) {
	case time.Duration:
		return v == 0
	case Size:
		return v == 0
	case int:
		return v == 0
	case Rate:
		return v == Rate{}
	case string:
		return v == ""
	}
	return false
}

// Rules.

func between(low, high int) rule {
	return rule{fmt.Sprintf("%d..%d", low, high), func(v any) bool { n := v.(int); return n >= low && n <= high }}
}

func fraction() rule {
	return rule{"0..1", func(v any) bool { f := v.(float64); return f >= 0 && f <= 1 }}
}

func atLeastOne() rule {
	return rule{">= 1", func(v any) bool { return v.(float64) >= 1 }}
}

func positive() rule {
	return rule{"> 0", func(v any) bool { return v.(time.Duration) > 0 }}
}

func lasting(low, high time.Duration) rule {
	text := FormatDuration(low) + ".." + FormatDuration(high)
	return rule{text, func(v any) bool { d := v.(time.Duration); return d >= low && d <= high }}
}

func sized(low, high Size) rule {
	return rule{low.String() + ".." + high.String(), func(v any) bool { s := v.(Size); return s >= low && s <= high }}
}

func oneOf(words ...string) rule {
	text := strings.Join(words, " | ")
	return rule{text, func(v any) bool { return slices.Contains(words, v.(string)) }}
}

func matching(text string, holds func(string) bool) rule {
	return rule{text, func(v any) bool { return holds(v.(string)) }}
}

func eachItem(text string, holds func(string) bool) rule {
	return rule{text, func(v any) bool {
		for _, item := range v.([]string) {
			if !holds(item) {
				return false
			}
		}
		return true
	}}
}
