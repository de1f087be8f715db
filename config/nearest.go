package config

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// unknown is the complaint about a key that n doesn't have, with what its
// author may have meant.
func unknown(n *node, key string) string {
	var known []string
	for _, c := range n.children {
		known = append(known, c.key)
	}
	names := slices.Clone(known)
	for _, o := range n.others {
		if o.section == "" {
			names = append(names, o.name)
		}
	}
	if near := nearest(key, names); near != "" {
		return "unknown, did you mean " + near
	}
	if elsewhere := n.below(key); elsewhere != "" {
		return "unknown, did you mean " + elsewhere
	}
	return "unknown; known here are " + strings.Join(known, ", ")
}

// below finds a key that belongs one section further down.
func (n *node) below(key string) string {
	for _, c := range n.children {
		if c.child(key) != nil || c.other(key) != nil {
			return c.key + "." + key
		}
	}
	return ""
}

// nearest is the known name with the fewest edits, or "" where none is near
// enough to be what was meant.
func nearest(key string, known []string) string {
	if len(key) > 64 { // distance is quadratic
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best, fewest := "", (len(key)+2)/3+1
	for _, name := range known {
		if d := levenshtein.Distance(key, name, nil); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}
