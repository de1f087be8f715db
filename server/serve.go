package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	headerTimeout = 10 * time.Second
	readTimeout   = 3 * time.Minute // of a module from far away; bodies of JSON get less
	writeTimeout  = 5 * time.Minute // an upload is read, judged and compiled within it
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// shutdownGrace is how long requests under way may take to end.
	shutdownGrace = 10 * time.Second
)

// Listen takes an address for [Server.Serve]; an error names the address and
// what to do.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("server.listen: %s is in use by another process: stop that one or choose another port (0 takes a free one)", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("server.listen: %s: this user may not listen there: choose a port above 1023", address)
	case err != nil:
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	return l, nil
}

// Serve answers what comes in on l until ctx ends; then it takes nothing new,
// lets requests that wait answer, gives the others ten seconds, and closes the
// server and l. It returns nil after a stop that was asked for.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.log.Warn("tokens and payloads can be read on the way: the API listens beyond this machine without TLS; put a proxy that speaks it before it", "listen", a)
	}
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(s.log.StandardWriter(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}), "", 0),
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	s.log.Info("the API is up", "listen", l.Addr())
	select {
	case err := <-ended:
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	s.interrupt()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := h.Shutdown(stopping); err != nil {
		s.log.Warn("requests that didn't end were cut off", "error", err)
		_ = h.Close() // they are all that is left
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}
