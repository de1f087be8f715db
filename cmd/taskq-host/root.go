package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// run is the whole program: it parses, executes, reports an error as lines on
// stderr and answers the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(context.Background())
	}
	return report(stderr, err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "taskq-host",
		Short: "Run WebAssembly actors as durable jobs on Postgres",
		Long: `taskq-host runs other people's code, durably and safely. Compile an actor to
WebAssembly in any language, push it, and enqueue jobs: each attempt runs in a
sandbox of its own, and whatever happens there becomes a recorded outcome.

Without a file, flags or a database, "taskq-host dev" is everything at once.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // unknownCommand has looked at them
		RunE:          showHelp,
	}
	root.SetFlagErrorFunc(flagError)
	addLogFlags(root)
	root.AddCommand(
		newDev(), newServe(), newWorker(), newMigrate(), newDemo(), newDoctor(),
		newActor(), newClassifier(), newJob(), newRetry(), newConfig(), newToken(), newVersion(), newCompileWorker(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// group makes a command that only holds others.
func group(use, short string, members ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: showHelp}
	g.AddCommand(members...)
	return g
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// unknownCommand refuses a name that isn't a command's, before flags are
// parsed: of "taskq-host serv --listen :1" the command is wrong, not the flag.
func unknownCommand(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return badInput("command", err)
	}
	if !cmd.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	return badInputf(nameOf(cmd), "unknown command %q%s", rest[0], orKnown(nearest(rest[0], known), known))
}
