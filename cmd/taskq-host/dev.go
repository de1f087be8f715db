package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

func newDev() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: Postgres, API and a worker",
		Long: `Run the API and a worker in one process, on an embedded Postgres unless a
database.url is configured. The schema is made or updated, and a token for the
tenant "default" is printed once and kept in the user's context file, so that
the other commands work at once.

Data stays over restarts. Ctrl-C stops: running guests may finish; a second one
stops them, a third ends the process at once.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return dev(cmd) },
	}
	addConfigFlags(cmd)
	addListenFlag(cmd.Flags())
	addWorkerFlags(cmd.Flags())
	addEmbeddedFlags(cmd)
	addCacheFlag(cmd)
	return cmd
}

func dev(cmd *cobra.Command) (err error) {
	log, err := newLog(cmd, "info")
	if err != nil {
		return err
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return err
	}
	listener, err := listen(cmd.Context(), live.Current().Server.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed before by the API, unless that never began
	db, err := openDatabase(cmd.Context(), cmd, live.Current().Database, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if _, err := db.migrate(cmd.Context(), "dev"); err != nil {
		return err
	}
	n, err := openNode(cmd.Context(), cmd, live, db, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(context.WithoutCancel(cmd.Context()))) }()
	if err := errors.Join(n.addAPI(listener), n.addWorker()); err != nil {
		return err
	}
	ctx := n.onSignals(cmd.Context(), devSignals(cmd.InOrStdin())...)
	if err := welcome(ctx, cmd.OutOrStdout(), n); err != nil {
		return err
	}
	return n.run(ctx)
}

// devSignals are what stops dev: on a terminal its closing too, which
// elsewhere means to read the configuration anew.
func devSignals(stdin io.Reader) []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if in, ok := stdin.(io.Writer); ok && isTerminal(in) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// welcome sees to the token and says how to go on.
func welcome(ctx context.Context, w io.Writer, n *node) error {
	address := baseURL(n.listener)
	token, err := devToken(ctx, n.db.Store, address)
	if err != nil {
		return err
	}
	where := "the configured Postgres"
	if n.db.embedded != nil {
		where = fmt.Sprintf("embedded Postgres %s in %s", n.db.embedded.Version(), n.db.embedded.Dir())
	}
	_, err = fmt.Fprintf(w, `taskq-host %s is up

  API       %s  (described at /openapi.json)
  database  %s
  token     %s

  push an actor   taskq-host actor push hello.wasm
  enqueue a job   taskq-host job enqueue hello --payload '{"name":"you"}' --wait
  stop            Ctrl-C

`, thisRelease().Version, address, where, token)
	return err
}
