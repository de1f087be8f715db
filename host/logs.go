package host

import (
	"encoding/json"
	"time"

	"github.com/taskq-host/taskq-host/abi"
)

// logMeter bounds what one execution may log: bytes in all, and lines a
// second by a bucket that holds one second's worth.
type logMeter struct {
	bytesLeft int
	rate      float64 // lines a second
	tokens    float64
	last      time.Time
	bytes     int64 // admitted
	dropped   int64 // lines
}

func newLogMeter(limits Limits, now time.Time) logMeter {
	rate := float64(limits.LogPerSec)
	return logMeter{bytesLeft: limits.LogBytes, rate: rate, tokens: rate, last: now}
}

// admit takes a line of size bytes, or counts it as dropped. A clock that
// goes backward gives no tokens.
func (m *logMeter) admit(now time.Time, size int) bool {
	if passed := now.Sub(m.last); passed > 0 {
		m.tokens = min(m.rate, m.tokens+m.rate*passed.Seconds())
		m.last = now
	}
	if m.tokens < 1 || size > m.bytesLeft {
		m.dropped++
		return false
	}
	m.tokens--
	m.bytesLeft -= size
	m.bytes += int64(size)
	return true
}

// log hands one line to the sink, bounded and repaired. Text that is a JSON
// object becomes fields, with its message or msg as the message. stream names
// where the line was printed; empty for a line of the log import.
func (x *execution) log(level abi.Level, text []byte, stream string) {
	if len(text) > abi.MaxLogLine {
		text = text[:abi.MaxLogLine]
	}
	now := x.now()
	if !x.logs.admit(now, len(text)) || x.attempt.Sink == nil {
		return
	}
	line := abi.LogLine{At: now, Level: min(max(level, abi.LevelTrace), abi.LevelError)}
	if fields, ok := jsonFields(text); ok {
		line.Message, line.Fields = takeMessage(fields)
		if stream != "" {
			line.Level = takeLevel(fields, line.Level)
		}
	} else {
		line.Message, _ = abi.Text(string(text), abi.MaxLogLine)
	}
	if stream != "" {
		if line.Fields == nil {
			line.Fields = make(map[string]any, 1)
		}
		line.Fields["stream"] = stream
	}
	x.attempt.Sink.Log(line)
}

// logFields is log for a line whose fields are decoded already.
func (x *execution) logFields(c *abi.ControlLog) {
	level, ok := abi.ParseLevel(c.Level)
	if !ok {
		level = abi.LevelInfo
	}
	size := len(c.Message)
	if len(c.Fields) > 0 {
		raw, err := json.Marshal(c.Fields)
		if err != nil {
			return // they were decoded from JSON: can't happen
		}
		size += len(raw)
	}
	now := x.now()
	if !x.logs.admit(now, size) || x.attempt.Sink == nil {
		return
	}
	message, _ := abi.Cut(c.Message, abi.MaxLogLine)
	x.attempt.Sink.Log(abi.LogLine{At: now, Level: level, Message: message, Fields: c.Fields})
}

func jsonFields(text []byte) (map[string]any, bool) {
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	fields, err := abi.ParseFields(text)
	return fields, err == nil
}

func takeMessage(fields map[string]any) (string, map[string]any) {
	for _, name := range []string{"message", "msg"} {
		if message, ok := fields[name].(string); ok {
			delete(fields, name)
			return message, fields
		}
	}
	return "", fields
}

func takeLevel(fields map[string]any, otherwise abi.Level) abi.Level {
	name, _ := fields["level"].(string)
	level, ok := abi.ParseLevel(name)
	if !ok {
		return otherwise
	}
	delete(fields, "level")
	return level
}

// progressEvery is how often a sink hears of progress at most; what comes in
// between is coalesced.
const progressEvery = 100 * time.Millisecond

// progressMeter keeps the latest progress until it may be told.
type progressMeter struct {
	pending []byte
	told    time.Time
}

// progress takes a record that RepairJSON gave.
func (x *execution) progress(record []byte) {
	x.progressed.pending = record
	x.tellProgress(false)
}

// tellProgress hands pending progress to the sink when it is time, or at once
// at the end of the attempt.
func (x *execution) tellProgress(last bool) {
	p := &x.progressed
	if p.pending == nil || x.attempt.Sink == nil {
		return
	}
	now := x.now()
	if !last && now.Sub(p.told) < progressEvery {
		return
	}
	record := p.pending
	p.pending, p.told = nil, now
	x.attempt.Sink.Progress(record)
}
