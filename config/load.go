package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/go-viper/mapstructure/v2"
)

// Sources is where a configuration is read from, lowest layer first: built-in
// values, then Files in their order, then Environ, then Flags.
type Sources struct {
	Files   []string        // .yaml, .yml, .toml or .json; each must exist
	Environ []string        // NAME=value as os.Environ gives it; only TASKQ_… counts
	Flags   map[string]Flag // by dotted path: worker.concurrency
}

// Load reads, checks and merges the sources. The error is [Errors]: all that
// is wrong, not only the first of it.
func Load(s Sources) (*Config, error) {
	read := []*layer{}
	var problems Errors
	for _, name := range s.Files {
		l, broken := readLayer(name)
		problems = append(problems, broken...)
		if l != nil {
			read = append(read, l)
		}
	}
	env, broken := envLayer(s.Environ)
	problems = append(problems, broken...)
	flags, broken := flagLayer(s.Flags)
	problems = append(problems, broken...)
	return assemble(append(read, env, flags), problems)
}

// assemble checks each layer by itself, merges them, and checks what only the
// whole can show.
func assemble(read []*layer, problems Errors) (*Config, error) {
	k := koanf.New(sep)
	c := &Config{origins: map[string]string{}}
	for _, l := range append([]*layer{builtin()}, read...) {
		tree, origins, broken := check(l)
		problems = append(problems, broken...)
		if len(tree) == 0 {
			continue
		}
		if err := k.Load(confmap.Provider(tree, ""), nil); err != nil {
			return nil, fmt.Errorf("config: merging %s: %w", l.name, err)
		}
		maps.Copy(c.origins, origins)
	}
	err := k.UnmarshalWithConf("", c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: c, TagName: "koanf", ErrorUnused: true,
	}})
	if err != nil {
		return nil, fmt.Errorf("config: decoding: %w", err)
	}
	c.leaves = k.All()
	c.layers = c.buildLayers()
	problems = append(problems, c.crossChecks(problems)...)
	problems = append(problems, c.laterProblems()...)
	if err := problems.errOrNil(); err != nil {
		return nil, err
	}
	c.Warnings = append(c.laterWarnings(), c.policyWarnings()...)
	slices.SortStableFunc(c.Warnings, strings.Compare)
	return c, nil
}
