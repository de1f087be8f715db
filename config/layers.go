package config

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/env/v2"
)

// EnvPrefix begins the names of the environment's keys.
const EnvPrefix = "TASKQ_"

// builtinLayer is the name of what the host ships with.
const builtinLayer = "built-in"

// builtin is the lowest layer: the schema's own defaults.
func builtin() *layer {
	l := &layer{name: builtinLayer, text: true}
	flat := map[string]any{}
	schema.walk(nil, func(p path, n *node) {
		if n.leaf() && n.builtin != "" && fixed(p) {
			flat[p.key()] = n.builtin
		}
	})
	l.tree = maps.Unflatten(flat, sep)
	return l
}

// fixed reports whether no key on the path is chosen by the user.
func fixed(p path) bool {
	return !slices.ContainsFunc(p, func(key string) bool { return strings.HasPrefix(key, "<") })
}

// envName is the environment's name of a key: database.url is
// TASKQ_DATABASE__URL.
func envName(p path) string {
	return EnvPrefix + strings.ToUpper(strings.Join(p, "__"))
}

// envLayer reads the environment. Every name with a __ in it is ours and must
// be a key. One without is somebody else's (the command line's, a Kubernetes
// service's), unless it is nearly a key's name.
func envLayer(environ []string) (*layer, Errors) {
	leaves := map[string]*node{}
	paths := map[string]path{}
	var names []string
	schema.walk(nil, func(p path, n *node) {
		if n.leaf() && fixed(p) {
			leaves[envName(p)], paths[envName(p)] = n, p
			names = append(names, envName(p))
		}
	})
	var problems Errors
	l := &layer{name: "env", text: true, origins: map[string]string{}}
	provider := env.Provider(sep, env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			p, known := paths[name]
			if !known {
				p, known = otherEnvName(name)
			}
			if known {
				l.origins[p.key()] = "env " + name
				return p.key(), value
			}
			if broken := strayEnv(name, names); broken != "" {
				problems = append(problems, Problem{Path: printable(name), Rule: broken, Where: "env"})
			}
			return "", nil
		},
	})
	tree, err := provider.Read()
	if err != nil {
		return nil, Errors{{Rule: err.Error(), Where: "env"}}
	}
	l.tree = tree
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return l, problems
}

// otherEnvName finds a key that the environment calls by another name:
// TASKQ_DEFAULTS__RETRY__MAX_BACKOFF.
func otherEnvName(name string) (path, bool) {
	p := path(strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "__"))
	if len(p) < 2 || name != envName(p) {
		return nil, false
	}
	n := schema
	for _, key := range p[:len(p)-1] {
		if n = n.child(key); n == nil {
			return nil, false
		}
	}
	o := n.other(p[len(p)-1])
	return p, o != nil && n.child(o.key).leaf()
}

func strayEnv(name string, names []string) string {
	single := func(s string) string { return strings.ReplaceAll(s, "__", "_") }
	ours := strings.Contains(name, "__")
	if ours && strings.HasPrefix(name, EnvPrefix+"QUEUES__") || strings.HasPrefix(name, EnvPrefix+"TENANTS__") {
		return "a key below a name that you choose can't be set here, only in a file"
	}
	for _, candidate := range names {
		if single(candidate) == single(name) {
			return "unknown, did you mean " + candidate
		}
	}
	near := nearestEnv(name, names)
	switch {
	case near != "":
		return "unknown, did you mean " + near
	case ours:
		return "unknown, and no key is near it"
	}
	return ""
}

// nearestEnv is strict: two edits, else a name of somebody else's would be
// refused.
func nearestEnv(name string, names []string) string {
	if len(name) > 128 {
		return ""
	}
	best, fewest := "", 3
	for _, candidate := range names {
		if d := levenshtein.Distance(name, candidate, nil); d < fewest {
			best, fewest = candidate, d
		}
	}
	return best
}

// Flag is a key that was set on the command line.
type Flag struct {
	Name  string // without dashes
	Value string
}

// flagLayer reads flags, which are given by dotted path. Like the environment
// they can't name keys below names that the user chooses.
func flagLayer(flags map[string]Flag) (*layer, Errors) {
	l := &layer{name: "flags", text: true, origins: map[string]string{}}
	flat := map[string]any{}
	var problems Errors
	for dots, flag := range flags {
		p := path(strings.Split(dots, "."))
		if n := schema.find(p); n == nil || !n.leaf() || strings.HasPrefix(dots, "queues.") || strings.HasPrefix(dots, "tenants.") {
			problems = append(problems, Problem{Path: dots, Rule: "can't be set by a flag", Where: "flag --" + flag.Name})
			continue
		}
		flat[p.key()] = flag.Value
		l.origins[p.key()] = "flag --" + flag.Name
	}
	l.tree = maps.Unflatten(flat, sep)
	return l, problems
}
