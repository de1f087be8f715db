//go:build linux || darwin

package embedpg

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// record is what the supervisor says about the server that it runs.
type record struct {
	Supervisor int       `json:"supervisor"` // process id
	Postmaster int       `json:"postmaster"` // process id
	Starts     int       `json:"starts"`     // of postgres under this supervisor
	StartedAt  time.Time `json:"started_at"` // of this postgres
	LastExit   string    `json:"last_exit,omitempty"`
	SocketDir  string    `json:"socket_dir"`
	Port       int       `json:"port"` // names the socket; the TCP port too when TCP is on
	TCP        bool      `json:"tcp"`
	Throwaway  bool      `json:"throwaway"`
	Version    string    `json:"version"`
	RunsAs     string    `json:"runs_as"`
}

// Server is one use of a running server. The server stops, at the earliest,
// when every use has been closed or its process has ended.
type Server struct {
	options  Options
	folder   *folder
	users    *os.File // holds the shared lock
	record   record
	password string
	started  bool
}

// Dir is the server's folder.
func (s *Server) Dir() string { return s.options.Dir }

// Version is the server's version, e.g. "15.18".
func (s *Server) Version() string { return s.record.Version }

// Started says whether this use started the server rather than joined one.
func (s *Server) Started() bool { return s.started }

// DSN is the connection string of a database over the unix socket, for pgx.
// It stays valid over restarts of the server. The database "postgres" exists.
func (s *Server) DSN(database string) string {
	q := url.Values{"host": {s.record.SocketDir}, "port": {strconv.Itoa(s.record.Port)}, "sslmode": {"disable"}}
	// A plus is a plus in these, not a space as in the urls of forms.
	query := strings.ReplaceAll(q.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", User: url.User(Role), Path: "/" + database, RawQuery: query}
	return u.String()
}

// TCPDSN is the connection string of a database over 127.0.0.1, with the
// password in it; empty when the server doesn't listen there.
func (s *Server) TCPDSN(database string) string {
	if !s.record.TCP {
		return ""
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(Role, s.password),
		Host: fmt.Sprintf("127.0.0.1:%d", s.record.Port), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Close ends this use. It doesn't wait for the server to stop, and must be
// called once.
func (s *Server) Close() error {
	err := s.users.Close()
	if ferr := s.folder.close(); err == nil {
		err = ferr
	}
	if err != nil {
		return fmt.Errorf("embedpg: close: %w", err)
	}
	return nil
}
