package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
)

// readText reads a string that isn't empty and that a text column takes.
func readText(raw []byte, into *string, most int) string {
	if string(raw) == `""` {
		return "must not be empty"
	}
	return readTextOrNone(raw, into, most)
}

func readTextOrNone(raw []byte, into *string, most int) string {
	if raw[0] != '"' {
		return "must be a string"
	}
	repaired, err := abi.RepairJSON(raw)
	if err != nil || !bytes.Equal(repaired, raw) {
		return "must hold no NUL, invalid UTF-8 or half surrogate"
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "must be a string"
	}
	if len(text) > most {
		return fmt.Sprintf("must be at most %d bytes", most)
	}
	*into = text
	return ""
}

func readName(raw []byte, into *string) string {
	var text string
	if rule := readText(raw, &text, 1<<20); rule != "" {
		return rule
	}
	if !abi.ValidName(text) {
		return abi.NameRule
	}
	*into = text
	return ""
}

func readInt(raw []byte, into *int, least, most int) string {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < least || n > most {
		return fmt.Sprintf("must be a whole number, %d to %d", least, most)
	}
	*into = n
	return ""
}

func readBool(raw []byte, into *bool) string {
	switch string(raw) {
	case "true":
		*into = true
	case "false":
		*into = false
	default:
		return "must be true or false"
	}
	return ""
}

// moment is a time that a request names: so long from now, by the database's
// clock, or a time with a zone.
type moment struct {
	after time.Duration
	at    time.Time // wins where it is set
}

const momentRule = "must be a duration from now, such as 90s or 2d, or a time with a zone, such as 2031-01-02T03:04:05Z"

func readMoment(raw []byte, into *moment) string {
	var text string
	if rule := readText(raw, &text, 64); rule != "" {
		return rule
	}
	if d, err := config.ParseDuration(text); err == nil {
		switch {
		case d < 0:
			return "must not be negative"
		case d > longest:
			return "must be at most 36500d"
		}
		// The store counts milliseconds; what is asked for is never cut short.
		into.after = (d + time.Millisecond - 1).Truncate(time.Millisecond)
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if _, zoneless := time.Parse("2006-01-02T15:04:05", text); zoneless == nil {
			return "needs a zone: Z, or an offset such as +01:00"
		}
		return momentRule
	}
	if at.Year() < 1970 {
		return "must not lie before 1970"
	}
	into.at = at.Truncate(time.Microsecond)
	return ""
}

// configFaults takes config's own findings apart; nil if err is none.
func configFaults(err error) []fault {
	var problems config.Errors
	if !errors.As(err, &problems) {
		return nil
	}
	out := make([]fault, 0, len(problems))
	for _, p := range problems {
		out = append(out, fault{FieldError: FieldError{Location: p.Path, Rule: p.Rule}})
	}
	return out
}
