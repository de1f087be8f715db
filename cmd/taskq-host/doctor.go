package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/config"
)

// How a check came out.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// finding is what one check found, and what to do about it.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
}

func ok(check, format string, args ...any) finding {
	return finding{Check: check, Status: checkOK, Detail: fmt.Sprintf(format, args...)}
}

func warn(check, do, format string, args ...any) finding {
	return finding{Check: check, Status: checkWarn, Detail: fmt.Sprintf(format, args...), Do: do}
}

func fail(check, do, format string, args ...any) finding {
	return finding{Check: check, Status: checkFail, Detail: fmt.Sprintf(format, args...), Do: do}
}

// doctor is what the checks look at.
type doctor struct {
	cmd *cobra.Command
	log hclog.Logger
	cfg *config.Config
}

// checkTimeout bounds each check: a doctor that hangs helps nobody.
const checkTimeout = 20 * time.Second

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine and its configuration can run the host",
		Long: `Check the configuration, Postgres, the folders, the port, the clock and the
compiler, and say what to do about what is wrong. Nothing is changed. The exit
code is 1 if anything fails.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLog(cmd, "off")
			if err != nil {
				return err
			}
			findings := diagnose(cmd, log)
			if err := printFindings(cmd, findings, asJSON); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Status == checkFail {
					return quietly(exitFailed)
				}
			}
			return nil
		},
	}
	addConfigFlags(cmd)
	addListenFlag(cmd.Flags())
	addEmbeddedFlags(cmd)
	addCacheFlag(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// diagnose runs every check. Without a configuration the others have nothing
// to check.
func diagnose(cmd *cobra.Command, log hclog.Logger) []finding {
	cfg, findings := checkConfig(cmd)
	if cfg == nil {
		return findings
	}
	d := &doctor{cmd: cmd, log: log, cfg: cfg}
	checks := []func(context.Context) []finding{d.database, d.port, d.cache, d.compiler, d.contextFile}
	if cfg.Database.URL == "" {
		checks = append([]func(context.Context) []finding{d.binaries, d.dataFolder}, checks...)
	}
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(cmd.Context(), checkTimeout)
		findings = append(findings, check(ctx)...)
		cancel()
	}
	return findings
}

func printFindings(cmd *cobra.Command, findings []finding, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), findings)
	}
	t := newTable(cmd.OutOrStdout())
	t.limit = 0 // what to do must not be cut
	for _, f := range findings {
		detail := f.Detail
		if f.Do != "" {
			detail += "; " + f.Do
		}
		t.row(f.Status, f.Check, detail)
	}
	return t.flush()
}
