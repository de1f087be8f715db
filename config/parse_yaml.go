package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML goes through the document's nodes itself instead of decoding into
// a map: so each key knows its line, a key that is there twice its path, and
// an alias is charged for what it expands to before that is built.
func parseYAML(name string, data []byte) (map[string]any, map[string]int, Errors) {
	r := &yamlReader{name: name, lines: map[string]int{}, open: map[*yaml.Node]bool{}}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decodeNode(dec, &doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return map[string]any{}, r.lines, nil
	case err != nil:
		return nil, nil, Errors{yamlError(name, err)}
	}
	if err := decodeNode(dec, new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, nil, Errors{{Rule: "holds more than one document", Where: name}}
	}
	root := doc.Content[0]
	v := r.value(root, nil)
	if r.problems != nil {
		return nil, nil, r.problems
	}
	tree, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, nil, Errors{{Rule: "must be a mapping, not " + typeName(v), Where: name}}
	}
	return tree, r.lines, nil
}

// decodeNode turns a panic of the parser, which its fuzzers still find now and
// then, into an error: a bad file must never end a running host.
func decodeNode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: the parser gave up")
		}
	}()
	return dec.Decode(n)
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func yamlError(name string, err error) Problem {
	text, where := err.Error(), name
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text, where = text[len(m[0]):], name+":"+m[1]
	}
	return Problem{Rule: "isn't YAML: " + strings.TrimPrefix(text, "yaml: "), Where: where}
}

type yamlReader struct {
	name     string
	lines    map[string]int
	open     map[*yaml.Node]bool // anchors that are being expanded
	nodes    int
	problems Errors
	full     bool // a limit was hit: nothing more is read
}

func (r *yamlReader) refuse(n *yaml.Node, at path, broken string) any {
	if !r.full {
		r.problems = append(r.problems, Problem{Path: at.String(), Rule: broken, Where: r.name + ":" + strconv.Itoa(n.Line)})
	}
	return nil
}

func (r *yamlReader) value(n *yaml.Node, at path) any {
	if r.nodes++; r.nodes > maxNodes || len(at) > maxDepth {
		r.refuse(n, at, "is nested too deeply, or its aliases expand to too much")
		r.full = true
	}
	if r.full {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		if r.open[n.Alias] {
			return r.refuse(n, at, "the alias *"+printable(n.Value)+" contains itself")
		}
		return r.value(n.Alias, at)
	case yaml.MappingNode:
		r.open[n] = true
		defer delete(r.open, n)
		return r.mapping(n, at)
	case yaml.SequenceNode:
		r.open[n] = true
		defer delete(r.open, n)
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			list = append(list, r.value(item, at.with(strconv.Itoa(i+1))))
		}
		return list
	}
	return r.scalar(n, at)
}

func (r *yamlReader) mapping(n *yaml.Node, at path) any {
	m, inherited := make(map[string]any, len(n.Content)/2), []map[string]any(nil)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			inherited = append(inherited, r.merged(value, at)...)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			r.refuse(key, at, "a key must be plain text")
			continue
		}
		if len(key.Value) > maxKeyBytes {
			r.refuse(key, at, "has a key of more than 256 bytes")
			continue
		}
		here := at.with(printable(key.Value))
		if _, twice := m[key.Value]; twice {
			r.refuse(key, here, "is there twice")
			continue
		}
		if _, known := r.lines[at.with(key.Value).key()]; !known {
			r.lines[at.with(key.Value).key()] = key.Line
		}
		m[key.Value] = r.value(value, at.with(key.Value))
	}
	for _, from := range inherited {
		for key, value := range from {
			if _, own := m[key]; !own {
				m[key] = value
			}
		}
	}
	return m
}

// merged is what a merge key (<<) brings: mappings, the first of which wins.
func (r *yamlReader) merged(n *yaml.Node, at path) []map[string]any {
	if n.Kind == yaml.SequenceNode {
		var all []map[string]any
		for _, item := range n.Content {
			all = append(all, r.merged(item, at)...)
		}
		return all
	}
	m, ok := r.value(n, at).(map[string]any)
	if !ok {
		r.refuse(n, at, "<< must name a mapping")
		return nil
	}
	return []map[string]any{m}
}

func (r *yamlReader) scalar(n *yaml.Node, at path) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		return n.Value
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return r.refuse(n, at, "isn't a value: "+quoted(n.Value))
		}
		return v
	}
	return r.refuse(n, at, "has the tag "+printable(n.Tag)+", which means nothing here")
}
