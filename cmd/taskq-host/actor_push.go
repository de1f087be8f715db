package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/client"
)

func newActorPush() *cobra.Command {
	var name string
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "push <file.wasm|folder>...",
		Short: "Push modules as the next versions of actors",
		Long: `Push modules: each becomes the next version of the actor that has the name of
its file, and current at once. Of a folder, every .wasm in it is pushed.
The same bytes as the current version's change nothing. What isn't accepted is
answered with the rule that it breaks, and nothing of it is stored.`,
		Args: atLeast("file.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			modules, err := modulesIn(args, name)
			if err != nil {
				return err
			}
			return pushAll(cmd, modules, (*client.Client).Push, dryRun, asJSON)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the actor, for a single module (default: the file's)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "judge, and store nothing")
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// module is a file to be pushed.
type module struct{ name, file string }

// modulesIn finds the files that arguments mean, each with its actor's name.
func modulesIn(args []string, name string) ([]module, error) {
	var found []module
	for _, arg := range args {
		stat, err := os.Stat(arg)
		if err != nil {
			return nil, badInput("module", err)
		}
		files := []string{arg}
		if stat.IsDir() {
			if files, err = filepath.Glob(filepath.Join(globQuote(arg), "*.wasm")); err != nil || len(files) == 0 {
				return nil, badInputf(arg, "holds no .wasm")
			}
		}
		for _, file := range files {
			found = append(found, module{nameOfFile(file), file})
		}
	}
	if name != "" {
		if len(found) > 1 {
			return nil, badInputf("--name", "names one module, and here are %d", len(found))
		}
		found[0].name = name
	}
	for _, m := range found {
		if !abi.ValidName(m.name) {
			return nil, badInputf(m.file, "%q can't be a name, which %s; give one with --name", m.name, abi.NameRule)
		}
	}
	return found, nil
}

func nameOfFile(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// globQuote keeps a folder's own characters from being a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// pusher sends a module to one of the shelves.
type pusher func(c *client.Client, ctx context.Context, name string, wasm []byte, o client.PushOptions) (*client.Pushed, error)

// pushAll pushes each module, also when one before it was refused. Its error is
// the first one; the others are told as they come.
func pushAll(cmd *cobra.Command, modules []module, push pusher, dryRun, asJSON bool) error {
	var total int64
	for _, m := range modules {
		if stat, err := os.Stat(m.file); err == nil {
			total += stat.Size()
		}
	}
	progress := newBar(cmd.ErrOrStderr(), "push", total)
	c, err := dial(cmd, progress.watch)
	if err != nil {
		return err
	}
	var first error
	for _, m := range modules {
		pushed, err := pushOne(cmd, c, m, push, dryRun)
		progress.clear()
		if err == nil {
			err = printPushed(cmd, pushed, asJSON)
		} else if len(modules) > 1 {
			err = quietly(report(cmd.ErrOrStderr(), err))
		}
		first = cmp.Or(first, err)
	}
	return first
}

func pushOne(cmd *cobra.Command, c *client.Client, m module, push pusher, dryRun bool) (*client.Pushed, error) {
	wasm, err := readModule(m.file)
	if err != nil {
		return nil, err
	}
	pushed, err := push(c, cmd.Context(), m.name, wasm, client.PushOptions{DryRun: dryRun})
	if err != nil {
		return nil, pushError(m, err)
	}
	return pushed, nil
}

func printPushed(cmd *cobra.Command, p *client.Pushed, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), p)
	}
	for _, warning := range p.Warnings {
		say(cmd.ErrOrStderr(), "taskq-host: %s: warning: %s\n", p.Name, oneLine(warning))
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s (%s, %s)\n", p.Name, whatBecame(p), p.Mode, sizeText(int64(p.Size)))
	return err
}

func whatBecame(p *client.Pushed) string {
	switch {
	case p.DryRun:
		return "would be accepted"
	case p.Unchanged:
		return fmt.Sprintf("version %d, unchanged", p.Version)
	}
	return fmt.Sprintf("version %d", p.Version)
}

// pushError words a refusal as "actor check" does.
func pushError(m module, err error) error {
	var p *client.Problem
	if errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity && len(p.Errors) == 1 && p.Errors[0].Message != "" {
		return badInputf(m.file, "refused: %s (rule %s)", p.Errors[0].Message, p.Errors[0].Rule)
	}
	return apiError("push "+m.name, err)
}
