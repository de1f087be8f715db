//go:build !linux && !darwin

package embedpg

import (
	"context"
	"time"
)

// Server is never made on this system.
type Server struct{}

// Supervise does nothing on this system.
func Supervise() {}

// Start returns [ErrUnsupported] on this system.
func Start(context.Context, Options) (*Server, error) { return nil, ErrUnsupported }

// FetchVersion is empty on this system.
const FetchVersion = ""

// Fetch returns [ErrUnsupported] on this system.
func Fetch(context.Context) (Binaries, error) { return Binaries{}, ErrUnsupported }

// Dir is empty on this system.
func (s *Server) Dir() string { return "" }

// Version is empty on this system.
func (s *Server) Version() string { return "" }

// Started is false on this system.
func (s *Server) Started() bool { return false }

// DSN is empty on this system.
func (s *Server) DSN(string) string { return "" }

// TCPDSN is empty on this system.
func (s *Server) TCPDSN(string) string { return "" }

// Close returns [ErrUnsupported] on this system.
func (s *Server) Close() error { return ErrUnsupported }

// Status returns [ErrUnsupported] on this system.
func (s *Server) Status() (Status, error) { return Status{}, ErrUnsupported }

// Watch returns at once on this system.
func (s *Server) Watch(context.Context, time.Duration, func(Status, error)) {}
