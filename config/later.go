package config

import (
	"reflect"
	"slices"
	"strings"
)

// later lists the keys whose feature isn't in this release: the one place
// where a release that brings a feature takes its keys out. A key stands for
// all below it; * is any name. A key that is set to something else than its
// built-in value gets a warning, so that nobody believes it works.
var later = []string{
	"host.fuel",

	"*.execution.lease",
	"*.execution.heartbeat_timeout",
	"*.worker",
	"*.handler",
	"*.limits.rate",
	"*.limits.concurrency",

	"tenants.*.weight",
	"tenants.*.ceilings.memory",
	"tenants.*.ceilings.concurrency",
	"tenants.*.actors.*.grants",
}

// laterRefused lists those of which a warning would be too little, because
// somebody relies on them for safety.
var laterRefused = []string{
	"server.tls",
	"worker.tenants",
}

// blockPrefixes are the places that "*." stands for in the lists above.
var blockPrefixes = []string{"defaults", "queues.*", "tenants.*.defaults", "tenants.*.queues.*", "tenants.*.actors.*"}

// isLater reports whether a key of the configuration is in list.
func isLater(list []string, p path) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		rest, everywhere := strings.CutPrefix(entry, "*.")
		if !everywhere {
			return hasPrefix(p, entry)
		}
		return slices.ContainsFunc(blockPrefixes, func(b string) bool { return hasPrefix(p, b+"."+rest) })
	})
}

func hasPrefix(p path, dotted string) bool {
	keys := strings.Split(dotted, ".")
	if len(keys) > len(p) {
		return false
	}
	for i, key := range keys {
		if key != "*" && key != p[i] {
			return false
		}
	}
	return true
}

func (c *Config) laterWarnings() []string {
	var out []string
	for _, p := range c.changed(later) {
		out = append(out, p.String()+": accepted, not used by this release yet ("+c.origins[p.key()]+")")
	}
	return out
}

func (c *Config) laterProblems() Errors {
	var out Errors
	for _, p := range c.changed(laterRefused) {
		out = append(out, Problem{Path: p.String(), Rule: "isn't in this release, and must not be believed to work", Where: c.origins[p.key()]})
	}
	return out
}

// changed is the leaves of list that differ from their built-in value.
func (c *Config) changed(list []string) []path {
	var out []path
	for joined, value := range c.leaves {
		p := path(strings.Split(joined, sep))
		if c.origins[joined] == builtinLayer || !isLater(list, p) || c.isBuiltin(p, value) {
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b path) int { return slices.Compare(a, b) })
	return out
}

// isBuiltin reports whether a value is what the schema's default says.
func (c *Config) isBuiltin(p path, value any) bool {
	n := schema.find(p)
	if n == nil || n.builtin == "" {
		return false
	}
	def, _ := n.parse(n.builtin, true)
	return reflect.DeepEqual(def, value)
}
