package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/client"
)

// trial is what "classifier try" was asked to do.
type trial struct {
	settings, file, now string
	attempt             int
	asJSON              bool

	request client.TryRequest
	at      time.Time
	failure *abi.Failure
}

func newClassifierTry() *cobra.Command {
	r := &trial{}
	cmd := &cobra.Command{
		Use:   "try <builtin:name|file.wasm|name>",
		Short: "Ask a classifier about a failure",
		Long: `Ask a classifier about a failure, and show what would be decided with it alone
in the chain of the policy that the host ships with. A built-in one and a file
are asked here, a name on the server. Delays that would be drawn are shown as the
middle of their band.`,
		Args: exactly("classifier"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&r.settings, "config", "", "its settings, `JSON`")
	f.StringVar(&r.file, "failure", "", "`file` with the failure, JSON, - for stdin")
	f.IntVar(&r.attempt, "attempt", 1, "which attempt failed")
	f.StringVar(&r.now, "now", "", "when it failed, RFC 3339 (default: now)")
	addCacheFlag(cmd)
	addServerFlags(cmd)
	addJSONFlag(cmd, &r.asJSON)
	return cmd
}

func (r *trial) run(cmd *cobra.Command, which string) error {
	if err := r.prepare(cmd); err != nil {
		return err
	}
	t, err := r.ask(cmd, which)
	if err != nil {
		return err
	}
	if t.Broken != "" {
		say(cmd.ErrOrStderr(), "taskq-host: %s is broken and would be skipped: %s\n", which, oneLine(t.Broken))
		t.Broken = "" // no part of the contract on stdout
	}
	if r.asJSON {
		return printJSON(cmd.OutOrStdout(), t)
	}
	return printTrial(cmd, t)
}

func (r *trial) prepare(cmd *cobra.Command) error {
	if r.file == "" {
		return badInputf("--failure", "is needed: a file with the failure, such as {\"class\":\"HttpError\",\"http\":{\"status\":429}}")
	}
	raw, err := readInput(cmd, "--failure", r.file, abi.MaxFailure)
	if err != nil {
		return err
	}
	if r.failure, err = classify.ReadFailure(raw); err != nil {
		return badInput("--failure", err)
	}
	if r.attempt < 1 || r.attempt > abi.MaxMaxAttempts {
		return badInputf("--attempt", "must be 1..%d", abi.MaxMaxAttempts)
	}
	r.at = time.Now()
	if r.now != "" {
		if r.at, err = time.Parse(time.RFC3339, r.now); err != nil {
			return badInputf("--now", "%q isn't a time such as 2031-01-02T03:04:05Z", r.now)
		}
	}
	r.request = client.TryRequest{Failure: raw, Attempt: r.attempt, Now: &r.at}
	if r.settings != "" {
		if !json.Valid([]byte(r.settings)) {
			return badInputf("--config", "isn't JSON")
		}
		r.request.Settings = json.RawMessage(r.settings)
	}
	return nil
}

// ask finds the classifier by the look of its name.
func (r *trial) ask(cmd *cobra.Command, which string) (*client.Trial, error) {
	switch {
	case strings.HasPrefix(which, classify.BuiltinPrefix):
		c, err := classify.Builtin(which, r.request.Settings)
		if err != nil {
			return nil, badInput("classifier", err)
		}
		return r.shown(classify.Try(cmd.Context(), c, r.failure, r.attempt, r.at))
	case strings.HasSuffix(which, ".wasm"):
		return r.askFile(cmd, which)
	}
	c, err := dial(cmd, nil)
	if err != nil {
		return nil, err
	}
	t, err := c.TryClassifier(cmd.Context(), which, r.request)
	if err != nil {
		return nil, apiError("classifier "+which, err)
	}
	return t, nil
}

func (r *trial) askFile(cmd *cobra.Command, file string) (*client.Trial, error) {
	wasm, err := readModule(file)
	if err != nil {
		return nil, err
	}
	log, err := newLog(cmd, "warn")
	if err != nil {
		return nil, err
	}
	engine, err := newEngine(cmd, classifier.Memory, log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.Close(cmd.Context()) }() // the process ends anyway
	module, err := engine.Load(cmd.Context(), wasm)
	if err == nil {
		err = classifier.Check(module.Report())
	}
	if err != nil {
		return nil, moduleError(file, err)
	}
	c := classifier.New(nameOfFile(file), classifier.Found(module), r.request.Settings)
	c.Sink = streamTo{cmd.ErrOrStderr()}
	return r.shown(classify.Try(cmd.Context(), c, r.failure, r.attempt, r.at))
}

// shown is a trial in the form that the API has it in.
func (r *trial) shown(t classify.Trial) (*client.Trial, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, failed("classifier try", err)
	}
	out := &client.Trial{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, failed("classifier try", err)
	}
	if t.Broken != nil {
		out.Broken = t.Broken.Error()
	}
	return out, nil
}

func printTrial(cmd *cobra.Command, c *client.Trial) error {
	t := newTable(cmd.OutOrStdout())
	claim := "none"
	if c.Claim {
		claim = strings.TrimSpace(textOr(c.Kind, "the policy's kind") + ", " + delayOr(c.DelayMS, "the curve's delay"))
	}
	t.row("claim", claim)
	t.row("decision", c.Decision.Action)
	t.row("decided by", c.Decision.DecidedBy)
	t.row("kind", c.Decision.Kind)
	if c.Decision.DelayMS != nil {
		t.row("delay", delayOr(c.Decision.DelayMS, ""))
	}
	if c.Decision.DeadReason != nil {
		t.row("dead reason", *c.Decision.DeadReason)
	}
	return t.flush()
}

func textOr(s *string, other string) string {
	if s == nil {
		return other
	}
	return *s
}

func delayOr(ms *int64, other string) string {
	if ms == nil {
		return other
	}
	return fmt.Sprint(time.Duration(min(*ms, 1<<43)) * time.Millisecond)
}
