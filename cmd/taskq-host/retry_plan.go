package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/retry"
)

func newRetry() *cobra.Command {
	return group("retry", "Look at retry policies", newRetryPlan())
}

// planned is what "retry plan" was asked to do. Texts, because what they mean
// is the policy's to say, with the field's name.
type planned struct {
	tenant, queue, actor string
	maxRetryBackoff      string
	attempts             int
	cover                string
	asJSON               bool
}

// policyFlags are the fields of a policy that flags set, by the flag's name.
var policyFlags = map[string]string{
	"kind": "kind", "max-attempts": "max_attempts", "backoff": "backoff", "base": "base",
	"multiplier": "multiplier", "cap": "cap", "jitter": "jitter",
}

func newRetryPlan() *cobra.Command {
	p := &planned{}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show a policy's delays, and how long its attempts last",
		Long: `Show the delay after each failed attempt, with the band that it is drawn from,
and the time that has passed by then; --cover answers how many attempts last as
long as a window. The policy is the one that the host ships with, or what the
configuration gives to --queue, --tenant and --actor; flags change it.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd) },
	}
	f := cmd.Flags()
	f.String("kind", "", "transient, indefinite or non_retryable")
	f.String("max-attempts", "", "executions, the first included")
	f.String("backoff", "", "exponential, linear or fixed")
	f.String("base", "", "delay after the first failure")
	f.String("multiplier", "", "growth of the exponential curve")
	f.String("cap", "", "longest delay")
	f.String("jitter", "", "share of the delay that is random, 0..1")
	f.StringVar(&p.maxRetryBackoff, "max-retry-backoff", "", "the host's longest delay (default: host.max_retry_backoff)")
	f.IntVar(&p.attempts, "attempts", 0, "show so many failed attempts (default: the budget's, 10 for indefinite)")
	f.StringVar(&p.cover, "cover", "", "how many attempts last so long?")
	f.StringVar(&p.tenant, "tenant", "", "a tenant of the configuration")
	f.StringVar(&p.queue, "queue", "", "a queue of the configuration")
	f.StringVar(&p.actor, "actor", "", "an actor of the configuration")
	addConfigFlags(cmd)
	addJSONFlag(cmd, &p.asJSON)
	return cmd
}

func (p *planned) run(cmd *cobra.Command) error {
	plan, err := p.plan(cmd)
	if err != nil {
		return err
	}
	if p.asJSON {
		return printJSON(cmd.OutOrStdout(), plan)
	}
	return printPlan(cmd, plan, p.cover)
}

func (p *planned) plan(cmd *cobra.Command) (*retry.Plan, error) {
	if p.attempts < 0 || p.attempts == 0 && cmd.Flags().Changed("attempts") {
		return nil, badInputf("attempts", "must be 1..%d", retry.MostAttempts)
	}
	s, err := sources(cmd)
	if err != nil {
		return nil, err
	}
	if p.tenant == "" && p.queue == "" && p.actor == "" && len(s.Flags) == 0 && !cmd.Flags().Changed("config") {
		// A policy in flags is the same wherever it is asked about.
		s = config.Sources{}
	}
	c, err := config.Load(s)
	if err != nil {
		return nil, err
	}
	said, err := saidPolicy(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if p.tenant == "" {
		p.tenant = "default"
	}
	resolved, err := c.Resolve(config.Lookup{Tenant: p.tenant, Queue: p.queue, Actor: p.actor}).Override("", config.Patch{Retry: said})
	if err != nil {
		return nil, refusedPolicy(err)
	}
	most, cover := c.Host.MaxRetryBackoff, time.Duration(0)
	for _, d := range []struct {
		name, text string
		into       *time.Duration
	}{{"max_retry_backoff", p.maxRetryBackoff, &most}, {"cover", p.cover, &cover}} {
		if d.text == "" {
			continue
		}
		if *d.into, err = config.ParseDuration(d.text); err != nil || *d.into <= 0 {
			return nil, badInputf(d.name, "%q isn't a duration above 0, such as 500ms, 12h, 2d", d.text)
		}
	}
	plan, err := retry.NewPlan(resolved.Retry, most, p.attempts, cover)
	if err != nil {
		return nil, badInput("", err)
	}
	return plan, nil
}

// saidPolicy reads the flags as strictly as a file's retry block.
func saidPolicy(f *pflag.FlagSet) (config.RetryPatch, error) {
	block := map[string]any{}
	for flag, key := range policyFlags {
		if f.Changed(flag) {
			block[key] = f.Lookup(flag).Value.String()
		}
	}
	said, err := config.DecodeRetryText("", block)
	if err != nil {
		return config.RetryPatch{}, refusedPolicy(err)
	}
	return said, nil
}

// refusedPolicy is the first thing wrong, with its field's name.
func refusedPolicy(err error) error {
	var problems config.Errors
	if errors.As(err, &problems) && len(problems) > 0 {
		return badInputf(strings.TrimPrefix(problems[0].Path, "retry."), "%s", problems[0].Rule)
	}
	return badInput("policy", err)
}

// chartWidth is how long the bar of the longest delay is.
const chartWidth = 32

func printPlan(cmd *cobra.Command, plan *retry.Plan, cover string) error {
	out := cmd.OutOrStdout()
	if _, err := fmt.Fprintf(out, "%s, budget %s\n\n", plan.Policy, plan.Policy.Budget()); err != nil {
		return err
	}
	longest := int64(1)
	for _, d := range plan.Delays {
		longest = max(longest, d.DelayMS)
	}
	t := newTable(out, "FAILED", "DELAY", "DRAWN FROM", "PASSED", "")
	for _, d := range plan.Delays {
		t.row(fmt.Sprint(d.Attempt), msText(d.DelayMS), msText(d.LowMS)+" … "+msText(d.HighMS), msText(d.TotalMS),
			strings.Repeat("█", int(max(1, d.DelayMS*chartWidth/longest))))
	}
	if err := t.flush(); err != nil || cover == "" {
		return err
	}
	answer := "no number of attempts lasts " + cover
	if plan.MaxAttemptsFor != nil {
		answer = fmt.Sprintf("max_attempts %d lasts %s", *plan.MaxAttemptsFor, cover)
	}
	_, err := fmt.Fprintf(out, "\n%s\n", answer)
	return err
}

func msText(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
