package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/semaphore"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

// Options of [New]. Store, Catalog and Config are needed and stay the caller's.
type Options struct {
	Store   *store.Store
	Catalog *catalog.Catalog
	Config  *config.Live
	Log     hclog.Logger // nil: none
	Version string       // of the host
}

// Server is the API as an http.Handler. It owns a goroutine, which [Server.Close]
// or the end of [Server.Serve] ends.
type Server struct {
	store   *store.Store
	catalog *catalog.Catalog
	config  *config.Live
	log     hclog.Logger
	version string

	gate    *gate
	wakeups *wakeups
	bodies  *semaphore.Weighted
	waiters *semaphore.Weighted
	timing  timing
	api     huma.API
	handler http.Handler
	ready   readiness

	stopping  chan struct{} // closed when requests that wait should answer
	interrupt func()        // closes it
	closing   sync.Once
}

// timing is what tests shorten.
type timing struct {
	body   time.Duration // to send a body of JSON
	upload time.Duration // to send a module
}

// maxWaiters is how many requests may wait for jobs at once.
const maxWaiters = 1_000

// New makes the API.
func New(o Options) (*Server, error) {
	if o.Store == nil || o.Catalog == nil || o.Config == nil {
		return nil, errors.New("server: store, catalog and config are needed")
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	s := &Server{
		store: o.Store, catalog: o.Catalog, config: o.Config, log: o.Log.Named("server"), version: o.Version,
		bodies: semaphore.NewWeighted(bodiesInFlight), waiters: semaphore.NewWeighted(maxWaiters),
		timing:   timing{body: 30 * time.Second, upload: 2 * time.Minute},
		stopping: make(chan struct{}),
	}
	s.interrupt = sync.OnceFunc(func() { close(s.stopping) })
	var err error
	if s.gate, err = newGate(o.Store.Token, time.Now); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.wakeups = newWakeups(storeWakeups(o.Store), s.log)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close lets requests that wait answer at once, sends the last wake-ups and
// ends what the server owns. Only the first call does anything.
func (s *Server) Close() {
	s.interrupt()
	s.closing.Do(s.wakeups.close)
}

// routes puts everything in its place: the API behind the gate, the rest free.
func (s *Server) routes() (http.Handler, error) {
	api := http.NewServeMux()
	s.api = humago.New(api, apiConfig())
	s.jobRoutes()
	s.actorRoutes()
	s.classifierRoutes()
	s.placeRoutes()
	spec, err := s.OpenAPI()
	if err != nil {
		return nil, err
	}
	docs, err := docsPage(s.api.OpenAPI())
	if err != nil {
		return nil, err
	}
	free := http.NewServeMux()
	free.Handle("/v1/", s.guard(orProblem(api)))
	free.HandleFunc("GET /{$}", page("text/html; charset=utf-8", []byte(landing)))
	free.HandleFunc("GET /docs", page("text/html; charset=utf-8", docs))
	free.HandleFunc("GET /openapi.json", page("application/openapi+json", spec))
	free.HandleFunc("GET /healthz", s.healthz)
	free.HandleFunc("GET /readyz", s.readyz)
	return s.recovered(orProblem(free)), nil
}

// recovered turns a panic into a 500 without its text.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			switch cause := recover(); {
			case cause == http.ErrAbortHandler: //nolint:errorlint // the very value, by contract
				panic(cause)
			case cause != nil:
				p := s.fault(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
				if rec.status == 0 {
					p.write(rec)
				}
			}
			s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", rec.status, "took", time.Since(started))
		}()
		rec.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(rec, r)
	})
}

// recorder knows whether an answer has begun.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write notes that an answer has begun.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// orProblem answers what no route takes as a problem, where ServeMux would
// answer in plain text.
func orProblem(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		asked := &headersOnly{header: http.Header{}}
		handler.ServeHTTP(asked, r)
		if asked.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", asked.header.Get("Allow"))
			problem(http.StatusMethodNotAllowed, "this path takes "+asked.header.Get("Allow")).write(w)
			return
		}
		problem(http.StatusNotFound, "there is no such path; see /docs").write(w)
	})
}

// headersOnly takes ServeMux's own answer apart.
type headersOnly struct {
	header http.Header
	status int
}

func (h *headersOnly) Header() http.Header         { return h.header }
func (h *headersOnly) Write(b []byte) (int, error) { return len(b), nil }
func (h *headersOnly) WriteHeader(status int)      { h.status = status }

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var p *Problem
	if !errors.As(s.answer(r.Context(), err), &p) {
		p = s.fault(err)
	}
	p.write(w)
}

func page(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		_, _ = w.Write(body) // a client that is gone can't be told
	}
}

const landing = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>taskq-host</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
code { font-family: ui-monospace, monospace; }
</style>
</head>
<body>
<h1>taskq-host</h1>
<p>This host is up. Its API begins at <code>/v1</code> and wants a bearer token.</p>
<ul>
<li><a href="/docs">The API's reference</a></li>
<li><a href="/openapi.json">The same for machines (OpenAPI 3.1)</a></li>
<li><a href="/healthz">Is the process alive?</a></li>
<li><a href="/readyz">Is it ready?</a></li>
</ul>
</body>
</html>
`
