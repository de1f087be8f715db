package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueType is how a leaf's value is read. Files bring typed values;
// environment and flags bring text only, which each type reads in its own way.
type valueType struct {
	name string
	zero any                                  // what none becomes
	read func(v any, text bool) (any, string) // a value, or the rule that it broke
}

var (
	textType = valueType{"text", "", func(v any, _ bool) (any, string) {
		s, ok := v.(string)
		if !ok {
			return nil, "must be text, not " + typeName(v)
		}
		return s, ""
	}}
	boolType = valueType{"true or false", false, func(v any, text bool) (any, string) {
		if s, ok := v.(string); ok && text && (s == "true" || s == "false") {
			return s == "true", ""
		}
		b, ok := v.(bool)
		if !ok {
			return nil, "must be true or false, not " + typeName(v)
		}
		return b, ""
	}}
	intType   = valueType{"whole number", 0, readInt}
	floatType = valueType{"number", 0.0, readFloat}

	durationType = valueType{"duration", time.Duration(0), func(v any, _ bool) (any, string) {
		s, ok := v.(string)
		if !ok {
			return nil, "must be a duration with its unit, such as 500ms, 1h30m or 30d, not " + typeName(v)
		}
		return orRule(ParseDuration(s))
	}}
	sizeType = valueType{"size", Size(0), func(v any, _ bool) (any, string) {
		s, ok := v.(string)
		if !ok {
			return nil, "must be a size with its unit, such as 512B, 64KiB or 16MiB, not " + typeName(v)
		}
		return orRule(ParseSize(s))
	}}
	rateType = valueType{"rate", Rate{}, func(v any, _ bool) (any, string) {
		s, ok := v.(string)
		if !ok {
			return nil, "must be a rate such as 100/s, not " + typeName(v)
		}
		return orRule(ParseRate(s))
	}}
	listType = valueType{"list of text", []string(nil), readList}

	objectType      = valueType{"mapping", map[string]any(nil), readObject}
	classifiersType = valueType{"list of classifiers", []Classifier(nil), readClassifiers}
)

// typeName names a value's kind for a message. The value itself stays out: it may
// be a secret in the wrong place.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case bool:
		return "true or false"
	case int, int64, uint64, float64, json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "something else"
}

func orRule[T any](v T, err error) (any, string) {
	if err != nil {
		return nil, err.Error()
	}
	return v, ""
}

func readInt(v any, text bool) (any, string) {
	bad := "must be a whole number, not " + typeName(v)
	switch n := v.(type) {
	case int:
		return n, ""
	case int64:
		return int(n), ""
	case float64: // JSON that was decoded by somebody else
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int(n), ""
		}
		bad = "must be a whole number"
	case json.Number:
		if i, err := strconv.Atoi(n.String()); err == nil {
			return i, ""
		}
		bad = "must be a whole number of a sensible size"
	case uint64:
		bad = "must be a whole number of a sensible size"
	case string:
		if i, err := strconv.Atoi(n); text && err == nil {
			return i, ""
		}
	}
	return nil, bad
}

func readFloat(v any, text bool) (any, string) {
	var f float64
	switch n := v.(type) {
	case int:
		f = float64(n)
	case int64:
		f = float64(n)
	case uint64:
		f = float64(n)
	case float64:
		f = n
	case json.Number:
		var err error
		if f, err = n.Float64(); err != nil {
			return nil, "must be a number of a sensible size"
		}
	case string:
		var err error
		if f, err = strconv.ParseFloat(n, 64); err != nil || !text {
			return nil, "must be a number, not text"
		}
	default:
		return nil, "must be a number, not " + typeName(v)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, "must be a finite number"
	}
	return f, ""
}

func readList(v any, text bool) (any, string) {
	if s, ok := v.(string); ok && text {
		list := []string{}
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list, ""
	}
	items, ok := v.([]any)
	if !ok {
		return nil, "must be a list, not " + typeName(v)
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok || s == "" {
			return nil, fmt.Sprintf("item %d must be text, not %s", i+1, typeName(item))
		}
		list = append(list, s)
	}
	return list, ""
}

func readObject(v any, _ bool) (any, string) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, "must be a mapping, not " + typeName(v)
	}
	object := plain(m).(map[string]any)
	if _, err := json.Marshal(object); err != nil {
		return nil, "must be representable as JSON"
	}
	return object, ""
}

// plain turns what only one format knows into the types that all of them
// have, so that free-form settings don't depend on the file's format.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = plain(item)
		}
		return m
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = plain(item)
		}
		return list
	case json.Number:
		if i, err := strconv.Atoi(v.String()); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case int64:
		return int(v)
	case encoding.TextMarshaler: // TOML's dates and times
		if text, err := v.MarshalText(); err == nil {
			return string(text)
		}
	}
	return v
}

func readClassifiers(v any, text bool) (any, string) {
	if s, ok := v.(string); ok && text {
		names, _ := readList(s, true)
		chain := []Classifier{}
		for _, name := range names.([]string) {
			chain = append(chain, Classifier{Use: name})
			if broken := chain[len(chain)-1].prepare(); broken != "" {
				return nil, name + " " + broken
			}
		}
		return chain, ""
	}
	items, ok := v.([]any)
	if !ok {
		return nil, "must be a list, not " + typeName(v)
	}
	chain := make([]Classifier, 0, len(items))
	for i, item := range items {
		c, rule := readClassifier(item)
		if rule != "" {
			return nil, fmt.Sprintf("item %d %s", i+1, rule)
		}
		if broken := c.prepare(); broken != "" {
			return nil, fmt.Sprintf("item %d %s", i+1, broken)
		}
		chain = append(chain, c)
	}
	return chain, ""
}

func readClassifier(v any) (Classifier, string) {
	if name, ok := v.(string); ok && name != "" {
		return Classifier{Use: name}, ""
	}
	m, ok := v.(map[string]any)
	if !ok {
		return Classifier{}, "must be a name or {use: …, with: {…}}, not " + typeName(v)
	}
	for key := range m {
		if key != "use" && key != "with" {
			return Classifier{}, fmt.Sprintf("has the unknown key %q; known are use, with", key)
		}
	}
	c := Classifier{}
	if c.Use, ok = m["use"].(string); !ok || c.Use == "" {
		return c, "must name a classifier in use"
	}
	if with, has := m["with"]; has {
		settings, rule := readObject(with, false)
		if rule != "" {
			return c, "with " + rule
		}
		c.With = settings.(map[string]any)
	}
	return c, ""
}
