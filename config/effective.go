package config

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Row is one value and where it comes from.
type Row struct {
	Path   string `json:"path"`  // dotted
	Value  any    `json:"value"` // as one writes it; secrets redacted
	Origin string `json:"origin"`
}

// Effective is every value that holds, sorted by path: what `config show
// --effective --why` prints. Passwords are redacted.
func (c *Config) Effective() []Row {
	rows := make([]Row, 0, len(c.leaves))
	for _, joined := range slices.Sorted(maps.Keys(c.leaves)) {
		p := path(strings.Split(joined, sep))
		value := c.leaves[joined]
		n := schema.find(p)
		if m, isMap := value.(map[string]any); isMap && len(m) == 0 && (n == nil || !n.leaf()) {
			continue // a heading with nothing below it
		}
		if n != nil {
			value = n.show(value)
		}
		rows = append(rows, Row{Path: p.String(), Value: value, Origin: c.origins[joined]})
	}
	return rows
}

// Why is the resolved fields, each with the layer that decided it and, where
// that was a file, the block in it.
func (c *Config) Why(r Resolved) []Row {
	values := [fieldCount]any{
		r.Retry.Kind, r.Retry.MaxAttempts, r.Retry.TimeBudget, r.Retry.Backoff, r.Retry.Base, r.Retry.Multiplier,
		r.Retry.Cap, r.Retry.Jitter, r.StartToClose, r.MaxPayload, r.TTLSucceeded, r.DLQRetention,
		r.Classification.Permanent, r.Classification.Retryable, r.Classifiers, r.Inline.Attempts, r.Inline.Backoff,
	}
	rows := make([]Row, 0, fieldCount)
	for f, o := range r.from {
		row := Row{Path: fieldPaths[f].String(), Origin: o.layer}
		row.Value = schema.find(path{"defaults"}.with(fieldPaths[f]...)).show(values[f])
		if o.at != nil {
			p := o.at.with(fieldPaths[f]...)
			if o == fromHost {
				p = path{"host", "default_start_to_close"}
			}
			row.Origin = p.String() + " (" + c.origins[p.key()] + ")"
		}
		rows = append(rows, row)
	}
	return rows
}

// changedPaths is the keys whose values differ between two configurations.
func changedPaths(a, b *Config) []path {
	var out []path
	before, after := a.comparable(), b.comparable()
	for joined, value := range after {
		if before[joined] != value {
			out = append(out, strings.Split(joined, sep))
		}
	}
	for joined := range before {
		if _, still := after[joined]; !still {
			out = append(out, strings.Split(joined, sep))
		}
	}
	slices.SortFunc(out, func(x, y path) int { return slices.Compare(x, y) })
	return out
}

// comparable is the leaves as text, for comparing only: secrets are in it.
func (c *Config) comparable() map[string]string {
	out := make(map[string]string, len(c.leaves))
	for joined, value := range c.leaves {
		text, _ := json.Marshal(value) // every leaf came from, or could be, JSON
		out[joined] = string(text)
	}
	return out
}

var dsnPassword = regexp.MustCompile(`(?i)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'?|[^&\s]+)`)

// redact hides the passwords of a connection string. Where it can't tell where
// a password ends it hides more than that.
func redact(dsn string) string {
	dsn = dsnPassword.ReplaceAllString(dsn, "${1}xxxxx")
	scheme, rest, isURL := strings.Cut(dsn, "://")
	if !isURL {
		return dsn
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return dsn
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword {
		return dsn
	}
	return scheme + "://" + user + ":xxxxx" + rest[at:]
}
