package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// none switches a setting off where that is allowed. It is a value like any
// other: it replaces what a lower layer said, where a missing key inherits.
const none = "none"

// Day is the one unit that durations have here beyond Go's.
const Day = 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]+)(\.[0-9]+)?d(.*)$`)

// ParseDuration reads Go's durations plus d for days, which comes first:
// 500ms, 1h30m, 30d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	whole := fmt.Errorf("%s isn't a duration such as 500ms, 1h30m or 30d", quoted(s))
	m := days.FindStringSubmatch(s)
	if m == nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, whole
		}
		return d, nil
	}
	n, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil || n > float64(math.MaxInt64/Day)-1 {
		return 0, whole
	}
	d := time.Duration(math.Round(n * float64(Day)))
	if m[3] == "" {
		return d, nil
	}
	rest, err := time.ParseDuration(m[3])
	if err != nil || rest < 0 || d > math.MaxInt64-rest || strings.ContainsAny(m[3][:1], "+-") {
		return 0, whole
	}
	return d + rest, nil
}

// quoted bounds how much of a wrong value a message repeats.
func quoted(s string) string {
	if len(s) > 32 {
		return strconv.Quote(s[:32]) + "…"
	}
	return strconv.Quote(s)
}

// FormatDuration writes a duration as [ParseDuration] reads it, without
// trailing zero units and with whole days as d: 30d, 1h30m, 500ms.
func FormatDuration(d time.Duration) string {
	if d >= Day && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a whole number of B, KiB, MiB or GiB.
func ParseSize(s string) (Size, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 63)
		if err != nil || n > uint64(math.MaxInt64/u.bytes) {
			break
		}
		return Size(n) * u.bytes, nil
	}
	return 0, fmt.Errorf("%s isn't a size such as 512B, 64KiB, 16MiB or 2GiB", quoted(s))
}

// String writes the size in the largest unit that leaves no remainder.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Rate is a number of starts in a time; the zero Rate is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

var rateUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": Day}

// ParseRate reads a number per s, m, h or d: 100/s.
func ParseRate(s string) (Rate, error) {
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.ParseUint(count, 10, 31)
	per, known := rateUnits[unit]
	if err != nil || n == 0 || !known {
		return Rate{}, fmt.Errorf("%s isn't a rate such as 100/s, 5/m or 1000/d", quoted(s))
	}
	return Rate{Count: int(n), Per: per}, nil
}

// String writes the rate as [ParseRate] reads it, or none.
func (r Rate) String() string {
	for unit, per := range rateUnits {
		if r.Per == per {
			return strconv.Itoa(r.Count) + "/" + unit
		}
	}
	return none
}
