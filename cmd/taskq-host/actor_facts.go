package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/store"
)

// metaSetters are the facts that --meta may set.
var metaSetters = map[string]func(m *abi.Meta, value string) error{
	"job_id":        text(func(m *abi.Meta) *string { return &m.JobID }),
	"tenant":        text(func(m *abi.Meta) *string { return &m.Tenant }),
	"queue":         text(func(m *abi.Meta) *string { return &m.Queue }),
	"actor":         text(func(m *abi.Meta) *string { return &m.Actor }),
	"retry_kind":    text(func(m *abi.Meta) *string { return &m.RetryKind }),
	"attempt":       number(func(m *abi.Meta) *int { return &m.Attempt }),
	"max_attempts":  number(func(m *abi.Meta) *int { return &m.MaxAttempts }),
	"version":       number(func(m *abi.Meta) *int { return &m.Version }),
	"snooze_count":  number(func(m *abi.Meta) *int { return &m.SnoozeCount }),
	"redrive_count": number(func(m *abi.Meta) *int { return &m.RedriveCount }),
}

func metaNames() []string { return slices.Sorted(maps.Keys(metaSetters)) }

func text(field func(*abi.Meta) *string) func(*abi.Meta, string) error {
	return func(m *abi.Meta, value string) error {
		*field(m) = value
		return nil
	}
}

func number(field func(*abi.Meta) *int) func(*abi.Meta, string) error {
	return func(m *abi.Meta, value string) (err error) {
		*field(m), err = strconv.Atoi(value)
		return err
	}
}

// localFacts are the facts of an attempt that no queue knows of.
func localFacts(file string, kind abi.Kind, contentType string, timeout time.Duration, said []string) (abi.Meta, error) {
	now := time.Now()
	m := abi.Meta{
		JobID: store.NewID().String(), Tenant: store.DefaultTenant, Queue: "default", Actor: actorNameOf(file),
		Kind: kind, Attempt: 1, MaxAttempts: 1, RetryKind: "transient", ClaimEpoch: 1,
		EnqueuedAtMS: now.UnixMilli(), NowMS: now.UnixMilli(), StartToCloseMS: timeout.Milliseconds(), ContentType: contentType,
	}
	if timeout > 0 {
		m.DeadlineMS = now.Add(timeout).UnixMilli()
	}
	for _, pair := range said {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return m, badInputf("--meta", "%q isn't key=value", pair)
		}
		if header, is := strings.CutPrefix(key, "header."); is {
			if m.Headers == nil {
				m.Headers = map[string]string{}
			}
			m.Headers[header] = value
			continue
		}
		set := metaSetters[key]
		if set == nil {
			return m, badInputf("--meta", "unknown key %q%s", key, orKnown(nearest(key, metaNames()), metaNames()))
		}
		if err := set(&m, value); err != nil {
			return m, badInputf("--meta "+key, "%q isn't a whole number", value)
		}
	}
	return m, nil
}

// actorNameOf makes a name of a file's: what may not be in one becomes a dash.
func actorNameOf(file string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, base)
	name, _ = abi.Cut(strings.TrimLeft(name, "._-"), abi.MaxNameBytes)
	if name == "" {
		return "actor"
	}
	return name
}
