package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/host"
)

func newActorCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check <file.wasm>",
		Short: "Say what a module imports and exports, and whether it would be accepted",
		Long: `Look at a module as an upload would, without a server and without compiling it:
its mode, entries, imports, memory, whether its instances can be pooled and why
not. A module that would be refused is answered with the rule that it breaks and
exit code 2.`,
		Args: exactly("file.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error { return checkModule(cmd, args[0], asJSON) },
	}
	addJSONFlag(cmd, &asJSON)
	addCacheFlag(cmd)
	return cmd
}

func checkModule(cmd *cobra.Command, file string, asJSON bool) error {
	wasm, err := readModule(file)
	if err != nil {
		return err
	}
	log, err := newLog(cmd, "warn")
	if err != nil {
		return err
	}
	engine, err := newEngine(cmd, 0, log)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close(cmd.Context()) }() // the process ends anyway
	report, err := engine.Inspect(wasm)
	var refusal *host.Refusal
	switch {
	case errors.As(err, &refusal) && asJSON:
		if err := printJSON(cmd.OutOrStdout(), checkAnswer{Refusal: &ruleBroken{refusal.Rule, refusal.Message}}); err != nil {
			return err
		}
		return quietly(exitBadInput)
	case err != nil:
		return moduleError(file, err)
	case asJSON:
		return printJSON(cmd.OutOrStdout(), checkAnswer{Accepted: true, Report: report})
	}
	return printReport(cmd.OutOrStdout(), report)
}

// checkAnswer is what "actor check --json" prints.
type checkAnswer struct {
	Accepted bool         `json:"accepted"`
	Refusal  *ruleBroken  `json:"refusal,omitempty"`
	Report   *host.Report `json:"report,omitempty"`
}

type ruleBroken struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// moduleError says that a module was refused, and by which rule.
func moduleError(file string, err error) error {
	var refusal *host.Refusal
	if errors.As(err, &refusal) {
		return badInputf(file, "refused: %s (rule %s)", refusal.Message, refusal.Rule)
	}
	return failed(file, err)
}

func printReport(w io.Writer, r *host.Report) error {
	t := newTable(w)
	t.limit = 0
	t.row("digest", r.Digest)
	t.row("size", fmt.Sprintf("%d bytes", r.Size))
	t.row("mode", string(r.Mode))
	t.row("entries", strings.Join(r.Entries, ", "))
	t.row("capabilities", orNone(strings.Join(r.Capabilities, ", ")))
	for _, i := range r.Imports {
		t.row("import", i.Module+"."+i.Name)
	}
	t.row("poolable", fmt.Sprint(r.Poolable))
	for _, reason := range r.NotPoolable {
		t.row("not poolable", reason)
	}
	for _, warning := range r.Warnings {
		t.row("warning", warning)
	}
	return t.flush()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
