package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// ParseControl reads what follows ControlPrefix on a line of a command's
// stderr. An error means that the line is ordinary stderr.
func ParseControl(text []byte) (*Control, error) {
	o, err := objectOf(text)
	if err != nil {
		return nil, err
	}
	c := &Control{}
	var fail json.RawMessage
	var log json.RawMessage
	for _, field := range []struct {
		name string
		into any
		want string
	}{
		{"snooze_ms", &c.SnoozeMS, "whole milliseconds"},
		{"retry_after_ms", &c.RetryAfterMS, "whole milliseconds"},
		{"consume_budget", &c.ConsumeBudget, "true or false"},
		{"fail", &fail, "a failure record"},
		{"progress", &c.Progress, "JSON"},
		{"log", &log, "a log line"},
	} {
		if err := o.read(field.name, field.into, field.want); err != nil {
			return nil, err
		}
		delete(o, field.name)
	}
	for name := range o {
		return nil, fmt.Errorf("unknown field %q", name)
	}
	if fail != nil {
		if c.Fail, err = ParseFailure(fail); err != nil {
			return nil, err
		}
	}
	if log != nil {
		if c.Log, err = parseControlLog(log); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

func (c *Control) check() error {
	set := 0
	for _, is := range []bool{c.SnoozeMS != nil, c.RetryAfterMS != nil, c.Fail != nil, c.Progress != nil, c.Log != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return errors.New("exactly one of snooze_ms, retry_after_ms, fail, progress and log must be set")
	}
	if c.ConsumeBudget != nil && c.RetryAfterMS == nil {
		return errors.New("consume_budget goes with retry_after_ms")
	}
	for _, ms := range []*int64{c.SnoozeMS, c.RetryAfterMS} {
		if ms != nil && *ms < 0 {
			return errors.New("a delay must not be negative")
		}
	}
	return nil
}

func parseControlLog(raw []byte) (*ControlLog, error) {
	o, err := objectOf(raw)
	if err != nil {
		return nil, fmt.Errorf("log %w", err)
	}
	log := &ControlLog{}
	var fields json.RawMessage
	if err := o.read("level", &log.Level, "a string"); err != nil {
		return nil, fmt.Errorf("log.%w", err)
	}
	if err := o.read("message", &log.Message, "a string"); err != nil {
		return nil, fmt.Errorf("log.%w", err)
	}
	if err := o.read("fields", &fields, "an object"); err != nil {
		return nil, fmt.Errorf("log.%w", err)
	}
	if _, ok := ParseLevel(log.Level); !ok && log.Level != "" {
		return nil, errors.New("log.level must be one of trace, debug, info, warn, error")
	}
	log.Message = Repair(log.Message)
	if fields == nil {
		return log, nil
	}
	if log.Fields, err = ParseFields(fields); err != nil {
		return nil, fmt.Errorf("log.fields: %w", err)
	}
	return log, nil
}

// ParseFields reads a JSON object as the fields of a log line, repaired;
// numbers stay json.Number.
func ParseFields(raw []byte) (map[string]any, error) {
	repaired, err := RepairJSON(raw)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(repaired))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil || fields == nil {
		return nil, errors.New("must be a JSON object")
	}
	return fields, nil
}

var levels = [...]string{"trace", "debug", "info", "warn", "error"}

// String gives the level's name; what lies outside counts as the nearest.
func (l Level) String() string {
	return levels[min(max(l, LevelTrace), LevelError)]
}

// ParseLevel reads a level's name, as String writes it, and "warning".
func ParseLevel(s string) (Level, bool) {
	for i, name := range levels {
		if s == name {
			return Level(i), true
		}
	}
	return LevelWarn, s == "warning"
}

// Milliseconds turns a guest's milliseconds into a duration; what a duration
// can't hold becomes the longest.
func Milliseconds(ms int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(ms, -most), most)) * time.Millisecond
}
