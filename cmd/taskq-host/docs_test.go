package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

// docs/cli.md is made of what --help says, so it can't say anything else.
func TestDocsSayWhatHelpSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	var b strings.Builder
	b.WriteString(cliIntroduction)
	root := newRoot()
	writeGlobals(&b, root)
	for _, cmd := range root.Commands() {
		writeCommand(&b, cmd)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644)) // #nosec G306 -- a document
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(written), "run: go test ./cmd/taskq-host -run TestDocs -update")
}

func writeGlobals(b *strings.Builder, root *cobra.Command) {
	fmt.Fprintf(b, "## Every command\n\n```\n%s```\n", root.PersistentFlags().FlagUsages())
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\n%s\n", cmd.CommandPath(), strings.TrimSpace(dedent(long)), cmd.UseLine())
	if flags := cmd.LocalNonPersistentFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\n%s", flags)
	}
	b.WriteString("```\n")
	if cmd.Name() == "completion" {
		return // cobra's own, one a shell
	}
	for _, sub := range cmd.Commands() {
		writeCommand(b, sub)
	}
}

// dedent keeps indented lines of help from becoming code blocks.
func dedent(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	return strings.Join(lines, "\n")
}
