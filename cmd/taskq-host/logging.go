package main

import (
	"io"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
)

func addLogFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("log-level", "", "least severe level that is logged: trace, debug, info, warn, error or off (TASKQ_LOG_LEVEL)")
	f.String("log-format", "", "console or json (TASKQ_LOG_FORMAT)")
}

// newLog makes the logger that flags or the environment ask for; level is the
// command's own wish where neither does.
func newLog(cmd *cobra.Command, level string) (hclog.Logger, error) {
	if said := flagOrEnv(cmd, "log-level", "TASKQ_LOG_LEVEL"); said != "" {
		level = strings.ToLower(said)
	}
	parsed := hclog.LevelFromString(level)
	if parsed == hclog.NoLevel {
		return nil, badInputf("--log-level", "%q is none of trace, debug, info, warn, error, off", level)
	}
	format := flagOrEnv(cmd, "log-format", "TASKQ_LOG_FORMAT")
	if format != "" && format != "console" && format != "json" {
		return nil, badInputf("--log-format", "%q is neither console nor json", format)
	}
	color := hclog.ColorOff
	if colorful(cmd.ErrOrStderr()) {
		color = hclog.ForceColor
	}
	return hclog.New(&hclog.LoggerOptions{
		Name: "taskq-host", Level: parsed, Output: cmd.ErrOrStderr(), JSONFormat: format == "json", Color: color,
	}), nil
}

// flagOrEnv is the value of a flag, or else of the variable that stands in
// for it.
func flagOrEnv(cmd *cobra.Command, flag, variable string) string {
	if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
		return f.Value.String()
	}
	return os.Getenv(variable)
}

// colorful says whether w is a terminal that wants colours.
func colorful(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
