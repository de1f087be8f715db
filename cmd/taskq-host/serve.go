package main

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the API only",
		Long: `Run the HTTP API without a worker. The schema must be up to date: see
"taskq-host migrate". Tokens are made by "taskq-host token add".`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runPart(cmd, true) },
	}
	addConfigFlags(cmd)
	addListenFlag(cmd.Flags())
	addEmbeddedFlags(cmd)
	addCacheFlag(cmd)
	return cmd
}

func newWorker() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker only",
		Long: `Claim jobs and run them, without an API. The schema must be up to date: see
"taskq-host migrate". SIGTERM lets running guests finish, for stop.drain at most;
a second signal stops them, a third ends the process at once.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runPart(cmd, false) },
	}
	addConfigFlags(cmd)
	addWorkerFlags(cmd.Flags())
	addEmbeddedFlags(cmd)
	addCacheFlag(cmd)
	return cmd
}

// runPart runs the API, or else a worker, until a signal.
func runPart(cmd *cobra.Command, api bool) (err error) {
	log, err := newLog(cmd, "info")
	if err != nil {
		return err
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return err
	}
	var listener net.Listener
	if api {
		if listener, err = listen(cmd.Context(), live.Current().Server.Listen); err != nil {
			return err
		}
		defer func() { _ = listener.Close() }() // closed before by the API, unless that never began
	}
	db, err := openDatabase(cmd.Context(), cmd, live.Current().Database, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if err := db.requireMigrated(cmd.Context(), cmd.Name()); err != nil {
		return err
	}
	n, err := openNode(cmd.Context(), cmd, live, db, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(context.WithoutCancel(cmd.Context()))) }()
	if api {
		err = n.addAPI(listener)
		say(cmd.OutOrStdout(), "listening on %s\n", baseURL(listener))
	} else {
		err = n.addWorker()
	}
	if err != nil {
		return err
	}
	return n.run(n.onSignals(cmd.Context(), os.Interrupt, syscall.SIGTERM))
}
