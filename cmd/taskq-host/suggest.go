package main

import (
	"errors"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError turns what the flag parser says into one line with the flag that
// may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return badInput(nameOf(cmd), err)
	}
	name := missing.GetSpecifiedName()
	if len(name) == 1 {
		return badInputf(nameOf(cmd), "unknown flag -%s; see %s --help", name, cmd.CommandPath())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	hint := "; see " + cmd.CommandPath() + " --help"
	if near := nearest("--"+name, known); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return badInputf(nameOf(cmd), "unknown flag --%s%s", name, hint)
}

// nearest is the known name with the fewest edits, or "" where none is near
// enough to be what was meant.
func nearest(name string, known []string) string {
	if len(name) > 64 { // distance is quadratic
		return ""
	}
	best, fewest := "", (len(strings.TrimLeft(name, "-"))+2)/3+1
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), k, nil); d < fewest {
			best, fewest = k, d
		}
	}
	return best
}

func orKnown(near string, known []string) string {
	if near != "" {
		return ", did you mean " + near + "?"
	}
	return "; known are " + strings.Join(known, ", ")
}

// nameOf is a command as messages call it, after the program's name.
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}

// exactly and atLeast are cobra's argument checks with names in the message.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return badInputf(nameOf(cmd), "<%s> is missing; usage: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names):
			return badInputf(nameOf(cmd), "unexpected argument %q; usage: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

func atLeast(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return badInputf(nameOf(cmd), "<%s> is missing; usage: %s", name, cmd.UseLine())
		}
		return nil
	}
}
