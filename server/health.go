package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/taskq-host/taskq-host/store"
)

// healthz says that the process answers, and nothing of what it needs: who
// restarts a process because its database is down helps nobody.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": s.version})
}

// Ready is the answer of /readyz.
type Ready struct {
	Ready    bool   `json:"ready"`
	Database string `json:"database"` // ok, unreachable, read-only, not migrated
}

const readyFresh = time.Second

// readiness is asked by probes without tokens: one question to the database a
// second, however many ask.
type readiness struct {
	mu    sync.Mutex
	asked time.Time
	last  Ready
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ready := s.checkReady(r.Context())
	status := http.StatusOK
	if !ready.Ready {
		w.Header().Set("Retry-After", "5")
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, ready)
}

func (s *Server) checkReady(ctx context.Context) Ready {
	s.ready.mu.Lock()
	defer s.ready.mu.Unlock()
	if time.Since(s.ready.asked) < readyFresh {
		return s.ready.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	h, err := s.store.Check(ctx)
	if err != nil {
		s.log.Warn("not ready", "error", err)
	}
	s.ready.asked, s.ready.last = time.Now(), readyOf(h, err)
	return s.ready.last
}

func readyOf(h store.Health, err error) Ready {
	switch {
	case err != nil:
		return Ready{Database: "unreachable"}
	case h.ReadOnly:
		return Ready{Database: "read-only"}
	case !h.Migrated:
		return Ready{Database: "not migrated"}
	}
	return Ready{Ready: true, Database: "ok"}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone can't be told
}
