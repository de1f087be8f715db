package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/config"
)

func newConfig() *cobra.Command {
	return group("config", "Check and show the configuration", newConfigCheck(), newConfigShow())
}

func newConfigCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [file]...",
		Short: "Check configuration files, the environment and flags as a whole",
		Long: `Check the configuration as a whole: the files that are named (else those that
a server would read), the environment and --set. Everything that is wrong is
printed, a line each, and the exit code is 2.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := sources(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				s.Files = args
			}
			c, err := config.Load(s)
			if asJSON {
				return checkAsJSON(cmd, s.Files, c, err)
			}
			if err != nil {
				return err
			}
			for _, w := range c.Warnings {
				say(cmd.ErrOrStderr(), "taskq-host: config: warning: %s\n", oneLine(w))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: %s\n", filesOrNone(s.Files))
			return err
		},
	}
	addConfigFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func filesOrNone(files []string) string {
	if len(files) == 0 {
		return "no file, built-in values, environment and flags"
	}
	return strings.Join(files, ", ")
}

func checkAsJSON(cmd *cobra.Command, files []string, c *config.Config, err error) error {
	answer := struct {
		OK       bool          `json:"ok"`
		Files    []string      `json:"files"`
		Problems config.Errors `json:"problems"`
		Warnings []string      `json:"warnings"`
	}{OK: err == nil, Files: orEmpty(files), Problems: config.Errors{}, Warnings: []string{}}
	if err != nil && !errors.As(err, &answer.Problems) {
		return err
	}
	if c != nil {
		answer.Warnings = orEmpty(c.Warnings)
	}
	if printed := printJSON(cmd.OutOrStdout(), answer); printed != nil {
		return printed
	}
	if err != nil {
		return quietly(exitBadInput)
	}
	return nil
}

// orEmpty makes nil the empty list that JSON readers expect.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func newConfigShow() *cobra.Command {
	var asJSON, effective, why bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the configuration that holds",
		Long: `Show the values that files, the environment and flags set; --effective adds the
built-in ones. --why names the layer that each value comes from. Passwords are
redacted.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := sources(cmd)
			if err != nil {
				return err
			}
			c, err := config.Load(s)
			if err != nil {
				return err
			}
			rows := c.Effective()
			if !effective {
				rows = onlySaid(rows)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), orEmpty(rows))
			}
			return printConfig(cmd, rows, why)
		},
	}
	addConfigFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&effective, "effective", false, "built-in values too")
	cmd.Flags().BoolVar(&why, "why", false, "where each value comes from")
	return cmd
}

func onlySaid(rows []config.Row) []config.Row {
	var said []config.Row
	for _, r := range rows {
		if r.Origin != "built-in" {
			said = append(said, r)
		}
	}
	return said
}

func printConfig(cmd *cobra.Command, rows []config.Row, why bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(cmd.ErrOrStderr(), "nothing is set; --effective shows the built-in values")
		return err
	}
	header := []string{"KEY", "VALUE"}
	if why {
		header = append(header, "FROM")
	}
	t := newTable(cmd.OutOrStdout(), header...)
	for _, r := range rows {
		cells := []string{r.Path, valueText(r.Value)}
		if why {
			cells = append(cells, r.Origin)
		}
		t.row(cells...)
	}
	return t.flush()
}

func valueText(v any) string {
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
