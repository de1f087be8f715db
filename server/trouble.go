package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

const (
	retryDatabase = 5 // seconds
	retryBusy     = 1
)

// answer turns an error of store, catalog or host into a Problem. What isn't
// the caller's to know goes to the log only.
func (s *Server) answer(ctx context.Context, err error) error {
	var p *Problem
	var refusal *host.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.Is(err, store.ErrNotFound):
		return errNotHere
	case errors.As(err, &refusal):
		return problem(http.StatusUnprocessableEntity, "the module isn't accepted; nothing was stored",
			FieldError{Location: "body", Rule: refusal.Rule, Message: refusal.Message})
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return s.unavailable("the request was given up", retryBusy) // by the client, who won't read it
	case errors.Is(err, host.ErrClosed):
		return s.unavailable("the host is stopping", retryDatabase)
	}
	if p := s.databaseTrouble(err); p != nil {
		return p
	}
	return s.fault(err)
}

// databaseTrouble gives the 503 of a database that can't be used now, or nil.
func (s *Server) databaseTrouble(err error) *Problem {
	switch state := sqlState(err); {
	case state == "25006":
		s.log.Warn("the database is read-only", "error", err)
		return s.unavailable("the database is read-only; nothing was changed", retryDatabase)
	case state == "42P01" || state == "3F000" || errors.Is(err, store.ErrNoSchema):
		s.log.Error("the schema is missing; run taskq-host migrate", "error", err)
		return s.unavailable("the database isn't migrated yet", retryDatabase)
	case store.Unreachable(err) && !errors.Is(err, catalog.ErrEngine):
		s.log.Warn("the database can't be used", "error", err)
		if store.Ambiguous(err) {
			return s.unavailable("the database can't be reached, and the answer was lost: what was asked for may have been done", retryDatabase)
		}
		return s.unavailable("the database can't be reached; nothing was changed", retryDatabase)
	}
	return nil
}

// sqlState reads the SQLSTATE of a server's error without naming the driver.
func sqlState(err error) string {
	var pg interface{ SQLState() string }
	if errors.As(err, &pg) {
		return pg.SQLState()
	}
	return ""
}

func (s *Server) unavailable(detail string, seconds int) *Problem {
	p := problem(http.StatusServiceUnavailable, detail)
	p.retryAfter = seconds
	return p
}

// fault is a bug of ours, or a trouble that nobody foresaw: the log has it all
// under an id, the answer has the id.
func (s *Server) fault(err error) *Problem {
	p := problem(http.StatusInternalServerError, "the host failed at this; its log tells more")
	p.Instance = "urn:uuid:" + store.NewID().String()
	s.log.Error("a request failed", "instance", p.Instance, "error", err)
	return p
}
