package host

import (
	"bytes"

	"github.com/taskq-host/taskq-host/abi"
)

// tail keeps the last bytes of a stream. It holds at most twice its limit, so
// that a byte is moved once on average however the stream is cut.
type tail struct {
	limit int
	buf   []byte
}

func (t *tail) write(p []byte) {
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
		t.buf = t.buf[:0]
	}
	if len(t.buf)+len(p) > 2*t.limit {
		keep := t.limit - len(p)
		n := copy(t.buf, t.buf[len(t.buf)-keep:])
		t.buf = t.buf[:n]
	}
	t.buf = append(t.buf, p...)
}

// text gives what was kept, repaired, at most limit bytes.
func (t *tail) text() string {
	buf := t.buf
	if len(buf) > t.limit {
		buf = buf[len(buf)-t.limit:]
	}
	if len(buf) == 0 {
		return ""
	}
	return abi.Tail(abi.Repair(string(buf)), t.limit)
}

// stream is a guest's stdout or stderr: it keeps the end and gives lines, cut
// to the longest that a log takes. A line that begins like a control line is
// held back from both until it has ended, because it may turn out to be one.
type stream struct {
	end     tail
	line    []byte
	cut     bool                   // the rest of this line is too long for the log
	control func(text []byte) bool // nil: no control lines; reports whether it took the line
	emit    func(line []byte)      // nil: nobody wants lines
}

const maxControlLine = len(abi.ControlPrefix) + abi.MaxFailure

func (s *stream) write(p []byte) {
	if s.emit == nil {
		s.end.write(p)
		return
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.extend(p)
			return
		}
		s.extend(p[:i])
		s.finish(p[i : i+1])
		p = p[i+1:]
	}
}

// flush ends a last line that had no newline.
func (s *stream) flush() {
	if len(s.line) > 0 {
		s.finish(nil)
	}
}

// extend adds to the line in progress.
func (s *stream) extend(p []byte) {
	if !s.held() {
		s.end.write(p)
		s.keep(p)
		return
	}
	s.line = append(s.line, p...)
	if s.held() && len(s.line) <= maxControlLine {
		return
	}
	s.end.write(s.line)
	line := s.line
	s.line = s.line[:0]
	s.keep(line)
}

// keep appends p to the line as far as a log line goes.
func (s *stream) keep(p []byte) {
	if room := abi.MaxLogLine - len(s.line); len(p) > room {
		p, s.cut = p[:room], true
	}
	s.line = append(s.line, p...)
}

// held reports whether the line so far may still become a control line.
func (s *stream) held() bool {
	if s.control == nil || s.cut {
		return false
	}
	n := min(len(s.line), len(abi.ControlPrefix))
	return string(s.line[:n]) == abi.ControlPrefix[:n]
}

// finish ends the line; newline is what ended it.
func (s *stream) finish(newline []byte) {
	line, held := s.line, s.held()
	s.line, s.cut = s.line[:0], false
	if held && len(line) >= len(abi.ControlPrefix) && s.control(line[len(abi.ControlPrefix):]) {
		return
	}
	if held {
		s.end.write(line)
	}
	s.end.write(newline)
	if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
		s.emit(line)
	}
}
