package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
)

// localRun is what "actor run" was asked to do.
type localRun struct {
	input, contentType   string
	entry                string
	timeout, memory      string
	meta                 []string
	asJSON               bool
	attemptTimeout       time.Duration
	memoryLimit          config.Size
	kind                 abi.Kind
	payload, moduleBytes []byte
	facts                abi.Meta
}

func newActorRun() *cobra.Command {
	r := &localRun{}
	cmd := &cobra.Command{
		Use:   "run <file.wasm>",
		Short: "Run one attempt of a module here, without a database",
		Long: `Run one attempt of a module on this machine, in the same sandbox and under the
same limits as a worker would, and print what became of it. Logs and progress go
to stderr as they come. The exit code is 0 only if the attempt succeeded.

Facts that the guest may ask for are set by --meta: ` + strings.Join(metaNames(), ", ") + `,
and header.NAME.`,
		Args: exactly("file.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&r.input, "input", "", "`file` with the payload, - for stdin; without it the payload is null")
	f.StringVar(&r.contentType, "content-type", "application/json", "of the payload")
	f.StringVar(&r.entry, "entry", string(abi.KindRun), "which entry: "+strings.Join(kindNames(), ", "))
	f.StringVar(&r.timeout, "timeout", "5m", "start_to_close of the attempt, or none")
	f.StringVar(&r.memory, "memory", "64MiB", "limit of linear memory")
	f.StringArrayVar(&r.meta, "meta", nil, "a fact of the attempt; may be repeated (`key=value`)")
	addCacheFlag(cmd)
	addJSONFlag(cmd, &r.asJSON)
	return cmd
}

func (r *localRun) run(cmd *cobra.Command, file string) error {
	if err := r.prepare(cmd, file); err != nil {
		return err
	}
	log, err := newLog(cmd, "warn")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	engine, err := newEngine(cmd, int64(r.memoryLimit), log)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close(cmd.Context()) }() // the process ends anyway
	module, err := engine.Load(ctx, r.moduleBytes)
	if err != nil {
		return moduleError(file, err)
	}
	r.facts.Digest = module.Report().Digest
	outcome := module.Run(ctx, host.Attempt{
		Kind: r.kind, Input: r.payload, Meta: r.facts, Timeout: r.attemptTimeout,
		Limits: host.Limits{Memory: int64(r.memoryLimit)}, Sink: streamTo{cmd.ErrOrStderr()},
	})
	tell := printOutcome
	if r.asJSON {
		tell = printOutcomeJSON
	}
	if err := tell(cmd.OutOrStdout(), outcome); err != nil {
		return err
	}
	if outcome.Kind != host.Succeeded {
		return quietly(exitFailed)
	}
	return nil
}

// prepare checks everything that was asked for before anything is compiled.
func (r *localRun) prepare(cmd *cobra.Command, file string) (err error) {
	if r.kind = abi.Kind(r.entry); !slices.Contains(kindNames(), r.entry) {
		return badInputf("--entry", "%q is none of %s", r.entry, strings.Join(kindNames(), ", "))
	}
	if r.timeout != "none" {
		if r.attemptTimeout, err = config.ParseDuration(r.timeout); err != nil || r.attemptTimeout <= 0 {
			return badInputf("--timeout", "%q isn't a duration above 0, such as 500ms, 5m, 1d, nor none", r.timeout)
		}
	}
	if r.memoryLimit, err = config.ParseSize(r.memory); err != nil || r.memoryLimit < abi.PageSize {
		return badInputf("--memory", "%q isn't a size of at least 64KiB, such as 64MiB", r.memory)
	}
	if r.facts, err = localFacts(file, r.kind, r.contentType, r.attemptTimeout, r.meta); err != nil {
		return err
	}
	if r.moduleBytes, err = readModule(file); err != nil {
		return err
	}
	r.payload = []byte("null")
	if r.input != "" {
		r.payload, err = readInput(cmd, "--input", r.input, abi.MaxPayload)
	}
	if err == nil && r.contentType == "application/json" && !json.Valid(r.payload) {
		return badInputf("--input", "isn't JSON; say what it is with --content-type")
	}
	return err
}

func kindNames() []string {
	return []string{string(abi.KindRun), string(abi.KindClassify), string(abi.KindHook), string(abi.KindCron), string(abi.KindDescribe)}
}

// readModule reads a file that should be a module; one that is far too large
// isn't read to its end.
func readModule(file string) ([]byte, error) {
	b, err := readBounded(file, abi.MaxModule)
	if err != nil {
		return nil, badInput("module", err)
	}
	return b, nil
}

// readInput reads a payload of at most so many bytes from a file or from stdin.
func readInput(cmd *cobra.Command, flag, file string, most int64) ([]byte, error) {
	if file != "-" {
		b, err := readBounded(file, most)
		if err != nil {
			return nil, badInput(flag, err)
		}
		return b, nil
	}
	b, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("stdin holds more than %s", config.Size(most))
	}
	if err != nil {
		return nil, badInput(flag, err)
	}
	return b, nil
}

func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s holds more than %s", file, config.Size(most))
	}
	return b, nil
}

// streamTo prints what a guest says, a line each.
type streamTo struct{ w io.Writer }

func (s streamTo) Log(l abi.LogLine) {
	line := l.Message
	if b, err := json.Marshal(l.Fields); err == nil && len(l.Fields) > 0 {
		line += " " + string(b)
	}
	say(s.w, "log %s: %s\n", l.Level, oneLine(line))
}

func (s streamTo) Progress(raw []byte) { say(s.w, "progress: %s\n", oneLine(string(raw))) }
