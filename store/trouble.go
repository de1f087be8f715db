package store

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unreachable reports whether a statement failed for a reason that is the
// connection's or the server's and may pass (no connection, a restart, a
// failover, no space, too many locks), not the statement's own.
func Unreachable(err error) bool {
	if err == nil {
		return false
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		// No answer from the server: a connection that broke or a deadline.
		return !errors.Is(err, context.Canceled)
	}
	for _, class := range []string{"08", "53", "57", "58", "40", "25", "55", "XX"} {
		if strings.HasPrefix(pg.Code, class) {
			return true
		}
	}
	return false
}
