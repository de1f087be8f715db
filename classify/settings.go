package classify

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/taskq-host/taskq-host/retry"
)

// block is a built-in classifier's configuration, read key by key. The first
// problem is kept.
type block struct {
	fields map[string]json.RawMessage
	known  []string
	err    error
}

func readBlock(raw json.RawMessage) *block {
	b := &block{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return b
	}
	if json.Unmarshal(raw, &b.fields) != nil || b.fields == nil {
		b.refuse("config", "must be a mapping")
	}
	return b
}

func (b *block) refuse(key, rule string) {
	if b.err == nil {
		b.err = &retry.PolicyError{Path: key, Rule: rule}
	}
}

// read fills into, which keeps its value if the key is absent; it reports
// whether the key was there and could be read.
func (b *block) read(key, want string, into any) bool {
	b.known = append(b.known, key)
	value, ok := b.fields[key]
	if !ok {
		return false
	}
	if bytes.Equal(value, []byte("null")) || json.Unmarshal(value, into) != nil {
		b.refuse(key, "must be "+want)
		return false
	}
	return true
}

// done gives the first problem; a key that nobody read is one.
func (b *block) done() error {
	for _, key := range slices.Sorted(maps.Keys(b.fields)) {
		if !slices.Contains(b.known, key) {
			b.refuse(key, "unknown, must be one of "+strings.Join(b.known, ", "))
		}
	}
	return b.err
}
