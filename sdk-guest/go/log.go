package taskq

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"sync"
	"time"
)

// Log is the logger of the attempt that ctx belongs to. Its lines go to the
// host with their attributes as fields; the host bounds a line to 16 KiB and
// an attempt to 256 KiB and 100 lines a second, and drops what is above.
func Log(ctx context.Context) *slog.Logger {
	return newLog(hostOf(ctx))
}

// LogHandler is the slog.Handler of [Log], for slog.SetDefault. It finds the
// attempt by the context of each call.
func LogHandler() slog.Handler { return newLogHandler(nil) }

// logHandler lets slog's own JSON handler encode a record and hands the line
// to the host: without time, which the host adds, and without level, which
// is an argument of the import.
type logHandler struct {
	host   host // nil: that of the context
	encode slog.Handler
	line   *lineBuffer
}

type lineBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func newLogHandler(h host) slog.Handler {
	line := &lineBuffer{}
	options := &slog.HandlerOptions{Level: slog.Level(math.MinInt32), ReplaceAttr: withoutLevel}
	return &logHandler{host: h, encode: slog.NewJSONHandler(line, options), line: line}
}

// withoutLevel drops the record's own level, not an attribute of that name.
func withoutLevel(groups []string, a slog.Attr) slog.Attr {
	if _, own := a.Value.Any().(slog.Level); own && len(groups) == 0 && a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// Enabled is true: which levels are kept is the host's to decide.
func (l *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (l *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h := l.host
	if h == nil {
		h = hostOf(ctx)
	}
	l.line.mu.Lock()
	defer l.line.mu.Unlock()
	l.line.Reset()
	r.Time = time.Time{} // the host has its own
	if err := l.encode.Handle(ctx, r); err != nil {
		return err
	}
	h.log(levelOf(r.Level), bytes.TrimRight(l.line.Bytes(), "\n"))
	return nil
}

func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{host: l.host, encode: l.encode.WithAttrs(attrs), line: l.line}
}

func (l *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{host: l.host, encode: l.encode.WithGroup(name), line: l.line}
}

var levelNames = [...]string{"trace", "debug", "info", "warn", "error"}

// levelOf gives the ABI's level: 0 trace, 1 debug, 2 info, 3 warn, 4 error.
func levelOf(l slog.Level) int32 {
	switch {
	case l < slog.LevelDebug:
		return 0
	case l < slog.LevelInfo:
		return 1
	case l < slog.LevelWarn:
		return 2
	case l < slog.LevelError:
		return 3
	}
	return 4
}

func newLog(h host) *slog.Logger { return slog.New(newLogHandler(h)) }
