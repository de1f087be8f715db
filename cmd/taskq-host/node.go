package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/server"
	"github.com/taskq-host/taskq-host/worker"
)

// node is what one process does for the host: an API, a worker, or both.
type node struct {
	log     hclog.Logger
	live    *config.Live
	db      *database
	engine  *host.Engine
	catalog *catalog.Catalog

	api      *server.Server // nil: no API
	listener net.Listener   // its
	worker   *worker.Worker // nil: no worker
}

// openNode opens what an API and a worker need. The caller must close it.
func openNode(ctx context.Context, cmd *cobra.Command, live *config.Live, db *database, log hclog.Logger) (*node, error) {
	engine, err := newEngine(cmd, int64(live.Current().Host.Memory), log)
	if err != nil {
		return nil, err
	}
	c, err := catalog.New(db.Store, engine, log)
	if err != nil {
		return nil, errors.Join(failed("catalog", err), engine.Close(ctx))
	}
	c.WarnBy(live)
	return &node{log: log, live: live, db: db, engine: engine, catalog: c}, nil
}

func (n *node) close(ctx context.Context) error { return n.engine.Close(ctx) }

// addAPI makes this process an API on a listener.
func (n *node) addAPI(l net.Listener) (err error) {
	n.listener = l
	n.api, err = server.New(server.Options{
		Store: n.db.Store, Catalog: n.catalog, Config: n.live, Log: n.log, Version: thisRelease().Version,
	})
	if err != nil {
		return failed("", err)
	}
	return nil
}

// addWorker makes this process a worker.
func (n *node) addWorker() (err error) {
	n.worker, err = worker.New(worker.Options{
		Store: n.db.Store, Catalog: n.catalog, Config: n.live, Log: n.log, Version: thisRelease().Version,
		ListenURL: n.live.Current().Database.ListenURL,
	})
	if err != nil {
		return failed("", err)
	}
	return nil
}

// listen takes the API's address. It is done before anything that takes long,
// so that a second process hears at once that the port is in use.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := server.Listen(ctx, address)
	if err != nil {
		return nil, failed("", err) // which names the key and the address
	}
	return l, nil
}

// baseURL is the address that a client on this machine uses.
func baseURL(l net.Listener) string {
	address := l.Addr().String()
	host, port, err := net.SplitHostPort(address)
	if ip, parsed := netip.ParseAddr(host); err == nil && parsed == nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + address
}

// run works until ctx ends: then the worker drains, and the API, which people
// watch that with, stops after it.
func (n *node) run(ctx context.Context) error {
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var behind sync.WaitGroup
	defer func() { end(); behind.Wait() }()
	behind.Go(func() {
		if err := n.live.Watch(background); err != nil {
			n.log.Warn("the configuration isn't watched", "error", err)
		}
	})
	behind.Go(func() { n.db.watch(background, n.log) })

	group, running := errgroup.WithContext(ctx)
	serving, hangUp := context.WithCancel(background)
	group.Go(func() error {
		defer hangUp()
		if n.worker != nil {
			return n.worker.Run(running)
		}
		<-running.Done()
		return nil
	})
	if n.api != nil {
		group.Go(func() error { return n.api.Serve(serving, n.listener) })
	}
	if err := group.Wait(); err != nil {
		return failed("", err)
	}
	return nil
}

// echo is within which time the same signal again is the same wish: a terminal
// signals the whole group, and what runs us may pass the signal on as well.
const echo = 300 * time.Millisecond

// onSignals answers a context that ends with the first signal. The second one
// makes the worker hurry, the third ends the process at once. It listens as
// long as the process lives.
func (n *node) onSignals(ctx context.Context, signals ...os.Signal) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 3)
	signal.Notify(got, signals...)
	go func() {
		var last os.Signal
		var at time.Time
		for count := 0; ; {
			s := <-got
			if s == last && time.Since(at) < echo {
				continue
			}
			last, at = s, time.Now()
			count++
			n.signalled(count, s, cancel)
		}
	}()
	return ctx
}

func (n *node) signalled(count int, s os.Signal, cancel context.CancelFunc) {
	switch count {
	case 1:
		n.log.Info("stopping; a second signal stops running guests, a third ends the process at once", "signal", s)
		cancel()
	case 2:
		n.log.Warn("running guests are stopped", "signal", s)
		if n.worker != nil {
			n.worker.Hurry()
		}
	default:
		n.log.Error("ended at once; the leases give the jobs back", "signal", s)
		os.Exit(exitFailed)
	}
}
