package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// Limits of a file. What a person writes is far below them; what a generator
// or an attacker writes is refused before it costs anything.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 32
	maxNodes     = 200_000 // after aliases are expanded
	maxKeyBytes  = 256
	maxBrackets  = 1_000 // open at once in a TOML file
)

// readLayer reads one file into a layer. The format is told by the extension.
func readLayer(name string) (*layer, Errors) {
	data, err := readBounded(name)
	if err != nil {
		return nil, Errors{{Rule: err.Error(), Where: name}}
	}
	return parseLayer(name, data)
}

func readBounded(name string) ([]byte, error) {
	stat, err := os.Stat(name)
	if err != nil {
		return nil, unwrapPath(err)
	}
	if !stat.Mode().IsRegular() { // to open a pipe would wait for its writer
		return nil, errors.New("isn't a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, unwrapPath(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, unwrapPath(err)
	}
	if len(data) > maxFileBytes {
		return nil, errors.New("is longer than 1MiB")
	}
	return data, nil
}

// unwrapPath drops the path that a Problem names anyway.
func unwrapPath(err error) error {
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func parseLayer(name string, data []byte) (*layer, Errors) {
	l := &layer{name: name, tree: map[string]any{}}
	refuse := func(broken string) (*layer, Errors) { return nil, Errors{{Rule: broken, Where: name}} }
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > maxFileBytes:
		return refuse("is longer than 1MiB")
	case !utf8.Valid(data):
		return refuse("isn't valid UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return refuse("holds a NUL")
	}
	var problems Errors
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".yaml", ".yml":
		l.tree, l.lines, problems = parseYAML(name, data)
	case ".json":
		l.tree, problems = parseJSON(name, data)
	case ".toml":
		l.tree, problems = parseTOML(name, data)
	default:
		return refuse("isn't .yaml, .toml or .json")
	}
	if problems != nil {
		return nil, problems
	}
	if broken := bounded(l.tree, 0, new(int)); broken != "" {
		return refuse(broken)
	}
	return l, nil
}

// bounded holds for every format what the YAML reader holds while it reads.
func bounded(v any, depth int, nodes *int) string {
	if *nodes++; *nodes > maxNodes {
		return "holds too many values"
	}
	if depth > maxDepth {
		return "is nested too deeply"
	}
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			if strings.Contains(key, sep) {
				return "holds a NUL"
			}
			if len(key) > maxKeyBytes {
				return "has a key of more than 256 bytes"
			}
			if broken := bounded(item, depth+1, nodes); broken != "" {
				return broken
			}
		}
	case []any:
		for _, item := range v {
			if broken := bounded(item, depth+1, nodes); broken != "" {
				return broken
			}
		}
	case string:
		if strings.Contains(v, "\x00") {
			return "holds a NUL"
		}
	}
	return ""
}

func parseTOML(name string, data []byte) (map[string]any, Errors) {
	if tooNested(data) {
		return nil, Errors{{Rule: "is nested too deeply", Where: name}}
	}
	tree := map[string]any{}
	err := toml.Unmarshal(data, &tree)
	if err == nil {
		return tree, nil
	}
	where := name
	if decode := (*toml.DecodeError)(nil); errors.As(err, &decode) {
		row, _ := decode.Position()
		where += ":" + strconv.Itoa(row)
	}
	return nil, Errors{{Rule: "isn't TOML: " + strings.TrimPrefix(err.Error(), "toml: "), Where: where}}
}

// tooNested guards the TOML reader, which recurses without a bound of its own;
// a stack that overflows would end the process. Brackets in text count too.
func tooNested(data []byte) bool {
	open := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		if open > maxBrackets {
			return true
		}
	}
	return false
}

// parseJSON reads by token, because encoding/json lets the last of two equal
// keys win without a word.
func parseJSON(name string, data []byte) (map[string]any, Errors) {
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), name: name}
	r.dec.UseNumber()
	v, err := r.value(nil)
	if err == nil && r.dec.More() {
		err = errors.New("something follows the object")
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		line := 1 + bytes.Count(data[:min(int(r.dec.InputOffset()), len(data))], []byte("\n"))
		r.problems = append(r.problems, Problem{Rule: "isn't JSON: " + err.Error(), Where: name + ":" + strconv.Itoa(line)})
	}
	if r.problems != nil {
		return nil, r.problems
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, Errors{{Rule: "must be a mapping, not " + typeName(v), Where: name}}
	}
	return tree, nil
}

type jsonReader struct {
	dec      *json.Decoder
	name     string
	problems Errors
}

func (r *jsonReader) value(at path) (any, error) {
	if len(at) > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return r.object(at)
	case json.Delim('['):
		list := []any{}
		for r.dec.More() {
			item, err := r.value(at.with(strconv.Itoa(len(list) + 1)))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = r.dec.Token()
		return list, err
	}
	return token, nil
}

func (r *jsonReader) object(at path) (any, error) {
	m := map[string]any{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%v isn't a key", token)
		}
		value, err := r.value(at.with(key))
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			r.problems = append(r.problems, Problem{Path: at.with(printable(key)).String(), Rule: "is there twice", Where: r.name})
		}
		m[key] = value
	}
	_, err := r.dec.Token()
	return m, err
}
