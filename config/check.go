package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// layer is one source of values before it is checked.
type layer struct {
	name    string            // what origins and problems call it
	tree    map[string]any    // keys as written
	lines   map[string]int    // joined path → line, where the format tells
	origins map[string]string // joined path → a name of its own: env and flags
	text    bool              // values come as text
}

func (l *layer) origin(joined string) string {
	if name, ok := l.origins[joined]; ok {
		return name
	}
	return l.name
}

// checker holds a layer against the schema and makes its canonical tree: real
// names in place of other ones, typed values in place of text.
type checker struct {
	layer    *layer
	problems Errors
	origins  map[string]string // canonical joined path of each leaf → origin
	written  map[string]path   // canonical joined path → as it was written
}

func check(l *layer) (map[string]any, map[string]string, Errors) {
	c := &checker{layer: l, origins: map[string]string{}, written: map[string]path{}}
	tree := c.section(schema, l.tree, nil)
	return tree, c.origins, c.problems
}

func (c *checker) refuse(at path, broken string) {
	if len(c.problems) > 10*maxProblems {
		return // a generated file: looking for near names would take long
	}
	at = c.asWritten(at)
	where := c.layer.name
	for p := at; len(p) > 0; p = p[:len(p)-1] {
		if name, ok := c.layer.origins[p.key()]; ok {
			where = name
			break
		}
		if line, ok := c.layer.lines[p.key()]; ok {
			where += ":" + strconv.Itoa(line)
			break
		}
	}
	c.problems = append(c.problems, Problem{Path: at.String(), Rule: broken, Where: where})
}

func (c *checker) asWritten(at path) path {
	for n := len(at); n > 0; n-- {
		if original, ok := c.written[at[:n].key()]; ok {
			return original.with(at[n:]...)
		}
	}
	return at
}

// section checks the keys of a section and returns it in canonical form.
func (c *checker) section(n *node, raw map[string]any, at path) map[string]any {
	raw = c.lift(n, raw, at)
	out := make(map[string]any, len(raw))
	spelt := map[string]string{} // canonical key → the name that was used
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		child, value, name := n.child(key), raw[key], key
		if alias := n.other(key); alias != nil {
			child = n.child(alias.key)
			c.written[at.with(alias.key).key()] = c.asWritten(at).with(key)
			if alias.convert != nil && value != nil {
				var broken string
				if value, broken = alias.convert(value, c.layer.text); broken != "" {
					c.refuse(at.with(alias.key), broken)
					continue
				}
			}
		}
		if child == nil {
			c.refuse(at.with(printable(key)), unknown(n, key))
			continue
		}
		if first, twice := spelt[child.key]; twice {
			c.refuse(at, bothNames(child.key, first, name))
			continue
		}
		spelt[child.key] = name
		if v, ok := c.value(child, value, at.with(child.key)); ok {
			out[child.key] = v
		}
	}
	return out
}

// bothNames puts the real name first, whichever came first in the file.
func bothNames(canonical, a, b string) string {
	if b == canonical {
		a, b = b, a
	}
	return a + " and " + b + " name one field"
}

// lift moves keys that are written in one section but belong to the one
// beside it, such as a queue's retry.retryable_errors.
func (c *checker) lift(n *node, raw map[string]any, at path) map[string]any {
	for _, o := range n.others {
		if o.section == "" {
			continue
		}
		from, _ := raw[o.section].(map[string]any)
		value, present := from[o.name]
		if !present {
			continue
		}
		to, key, _ := strings.Cut(o.key, sep)
		target, isMap := raw[to].(map[string]any)
		if _, has := raw[to]; has && raw[to] != nil && !isMap {
			continue // its type is refused anyway
		}
		raw, from, target = maps.Clone(raw), maps.Clone(from), maps.Clone(target)
		delete(from, o.name)
		raw[o.section] = from
		if _, both := target[key]; both {
			c.refuse(at, to+"."+key+" and "+o.section+"."+o.name+" name one field")
			continue
		}
		if target == nil {
			target = map[string]any{}
		}
		target[key] = value
		raw[to] = target
		c.written[at.with(to, key).key()] = at.with(o.section, o.name)
	}
	return raw
}

func (n *node) other(name string) *other {
	for i := range n.others {
		if n.others[i].name == name && n.others[i].section == "" {
			return &n.others[i]
		}
	}
	return nil
}

// value checks what stands at a key. The second result is false where there
// is nothing to keep.
func (c *checker) value(n *node, raw any, at path) (any, bool) {
	if n.leaf() {
		v, broken := n.parse(raw, c.layer.text)
		if broken != "" {
			c.refuse(at, broken)
			return nil, false
		}
		c.noteOrigin(at, v)
		return v, true
	}
	if raw == nil { // a heading with nothing below it
		return nil, false
	}
	m, ok := raw.(map[string]any)
	if !ok {
		c.refuse(at, "must be a section with keys of its own, not "+typeName(raw))
		return nil, false
	}
	if n.each == nil {
		return c.section(n, m, at), true
	}
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !abi.ValidName(name) {
			c.refuse(at.with(printable(name)), "isn't a "+n.nameRule+"'s name: "+abi.NameRule)
			continue
		}
		if v, ok := c.value(n.each, m[name], at.with(name)); ok {
			out[name] = v
		} else if m[name] == nil {
			out[name] = map[string]any{}
		}
	}
	return out, true
}

// noteOrigin remembers where a leaf came from; a free-form mapping merges key
// by key, so each of its keys has an origin.
func (c *checker) noteOrigin(at path, v any) {
	origin := c.layer.origin(c.asWritten(at).key())
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		c.origins[at.key()] = origin
		return
	}
	for key, item := range m {
		if strings.Contains(key, sep) {
			c.refuse(at.with(printable(key)), "a key can't hold NUL")
			delete(m, key)
			continue
		}
		c.noteOrigin(at.with(key), item)
	}
}

// printable makes a key that isn't ours safe to print.
func printable(key string) string {
	q := quoted(key)
	if plain := q[1 : len(q)-1]; plain == key {
		return key
	}
	return q
}
