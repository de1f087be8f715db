package store

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unreachable reports whether a statement failed for a reason that is the
// connection's or the server's and may pass (no connection, a restart, a
// failover, no space, too many locks), not the statement's own.
func Unreachable(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return noAnswer(err)
	}
	for _, class := range []string{"08", "53", "57", "58", "40", "25", "55"} {
		if strings.HasPrefix(pg.Code, class) {
			return true
		}
	}
	return false
}

// noAnswer: a connection that broke or couldn't be had, or a deadline. What
// the driver itself refuses (a value that it can't encode) isn't.
func noAnswer(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// Ambiguous reports whether a statement that failed may have taken effect all
// the same: no answer came.
func Ambiguous(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// A backend that is shut down may say so after its commit.
		return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08")
	}
	return err != nil && !pgconn.SafeToRetry(err)
}

// TooSlow reports whether a statement was given up for its own length; half
// of it may be quick enough.
func TooSlow(err error) bool { return sqlState(err) == "57014" }

// readOnly is what a server answers to a write after it became a replica.
const readOnly = "25006"
