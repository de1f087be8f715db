package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/plugins"
	"github.com/taskq-host/taskq-host/store"
)

func newDemo() *cobra.Command {
	var folder string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the example actors and show what became of each job",
		Long: `Start everything in this process on a throwaway database, push the example
actors through the API, enqueue jobs that succeed, fail, panic, exit, loop, eat
memory and more, and print each one's outcome as it settles. The exit code is 0
only if every job ended as its actor's manifest says it should.

The database is taskq_demo of the embedded Postgres, or the schema taskq_demo of
a configured one; it is made anew each time and left to look at.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, folder, asJSON) },
	}
	cmd.Flags().StringVar(&folder, "actors", "", "`folder` of the example actors (default: plugins beside this program)")
	addConfigFlags(cmd)
	addEmbeddedFlags(cmd)
	addCacheFlag(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// demoPatience bounds the whole of it: a job that hasn't ended by then is a
// difference.
const demoPatience = 2 * time.Minute

func demo(cmd *cobra.Command, folder string, asJSON bool) (err error) {
	log, err := newLog(cmd, "error")
	if err != nil {
		return err
	}
	if folder, err = exampleFolder(folder); err != nil {
		return err
	}
	actors, err := plugins.Load(os.DirFS(folder))
	if err != nil {
		return badInput("actors in "+folder, err)
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return err
	}
	db, release, err := openThrowaway(cmd.Context(), cmd, live.Current().Database, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close(), release()) }()
	n, err := demoNode(cmd, db, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(context.WithoutCancel(cmd.Context()))) }()

	signalled := n.onSignals(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(signalled, demoPatience, fmt.Errorf("not done after %v", demoPatience))
	defer cancel()
	ran := make(chan error, 1)
	go func() {
		defer cancel() // nobody would end the jobs
		ran <- n.run(ctx)
	}()
	err = play(ctx, cmd, n, folder, actors, asJSON)
	cancel()
	if err = errors.Join(<-ran, err); signalled.Err() != nil {
		return failedf("demo", "stopped by a signal")
	}
	return err
}

// exampleFolder is where `make wasm` laid the actors out, unless another one
// was named.
func exampleFolder(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", failed("own executable", err)
	}
	return filepath.Join(filepath.Dir(self), "plugins"), nil
}

// demoNode is an API on a free port and a worker, under the built-in
// configuration: what the user's own says of retries isn't what the manifests
// expect.
func demoNode(cmd *cobra.Command, db *database, log hclog.Logger) (*node, error) {
	builtin, err := config.Open(config.Sources{}, log)
	if err != nil {
		return nil, err
	}
	listener, err := listen(cmd.Context(), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n, err := openNode(cmd.Context(), cmd, builtin, db, log)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if err := errors.Join(n.addAPI(listener), n.addWorker()); err != nil {
		return nil, err
	}
	return n, nil
}

// play pushes, enqueues, and tells how each job ended.
func play(ctx context.Context, cmd *cobra.Command, n *node, folder string, actors []plugins.Plugin, asJSON bool) error {
	tenant, err := n.db.Tenant(ctx, store.DefaultTenant)
	if err != nil {
		return failed("", err)
	}
	token, err := n.db.IssueToken(ctx, tenant, "demo", "admin")
	if err != nil {
		return failed("", err)
	}
	c, err := client.New(client.Options{URL: baseURL(n.listener), Token: token, UserAgent: "taskq-host-demo"})
	if err != nil {
		return failed("", err)
	}
	defer c.Close()
	if err := pushExamples(ctx, cmd, c, actors); err != nil {
		return err
	}
	jobs, err := enqueueExamples(ctx, c, actors)
	if err != nil {
		return err
	}
	out := newScreen(cmd.OutOrStdout(), folder, jobs, asJSON)
	differences := settle(ctx, c, jobs, out)
	if err := out.end(len(differences)); err != nil {
		return err
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return quietly(exitFailed) // a signal, or the host's own end, which are told
	}
	for _, d := range differences {
		say(cmd.ErrOrStderr(), "taskq-host: demo: %s\n", oneLine(d))
	}
	if len(differences) > 0 {
		return quietly(exitFailed)
	}
	return nil
}
