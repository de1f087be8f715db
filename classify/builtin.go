package classify

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BuiltinPrefix begins the name of every classifier that ships with the host.
const BuiltinPrefix = "builtin:"

var builtins = map[string]func(json.RawMessage) (Classifier, error){
	RateLimitAware:  newRateLimitAware,
	FailureTaxonomy: newFailureTaxonomy,
}

// Builtins are the names of the classifiers that ship with the host, sorted.
func Builtins() []string { return slices.Sorted(maps.Keys(builtins)) }

// Builtin builds a classifier that ships with the host. Config is a JSON
// object, or empty for the defaults. It is read strictly; an error names the
// classifier and the key, and wraps a [*retry.PolicyError] where it is about
// a key.
func Builtin(name string, config json.RawMessage) (Classifier, error) {
	build, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("unknown classifier %q, there are %s", name, strings.Join(Builtins(), " and "))
	}
	c, err := build(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}
