package config

import "strings"

// sep joins the keys of a path inside koanf and in our own maps. Names may
// hold dots but never NUL, which no layer's keys get past.
const sep = "\x00"

// path is a key's place in the tree.
type path []string

func (p path) with(keys ...string) path {
	return append(p[:len(p):len(p)], keys...)
}

func (p path) key() string    { return strings.Join(p, sep) }
func (p path) String() string { return strings.Join(p, ".") }
