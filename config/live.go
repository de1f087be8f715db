package config

import (
	"crypto/sha256"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// Live is the configuration of a running process: the current one at any
// time, and whoever wants to know of the next.
type Live struct {
	sources Sources
	log     hclog.Logger
	current atomic.Pointer[Config]

	mu   sync.Mutex        // held while a reload is made and told
	seen [sha256.Size]byte // what the files held when they were last read
	next int
	subs map[int]func(before, after *Config)
}

// Open loads the sources for a process that runs; the error is [Load]'s. A nil
// logger logs nothing.
func Open(s Sources, log hclog.Logger) (*Live, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	l := &Live{sources: s, log: log.Named("config"), subs: map[int]func(before, after *Config){}}
	l.seen = l.fingerprint() // before, so that a change in between is found
	c, err := Load(s)
	if err != nil {
		return nil, err
	}
	l.current.Store(c)
	for _, w := range c.Warnings {
		l.log.Warn(w)
	}
	return l, nil
}

// Current is the configuration that holds now. Take it once for a piece of
// work and keep it, so that the work sees one configuration.
func (l *Live) Current() *Config { return l.current.Load() }

// Subscribe calls f after each reload that changed the configuration, one
// call at a time; f must not block, nor call Reload. The result ends it.
func (l *Live) Subscribe(f func(before, after *Config)) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	l.subs[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subs, id)
	}
}

// Reload reads the sources anew and checks them as a whole. What is refused
// changes nothing: the old configuration goes on, the log says so, and the
// error is [Load]'s.
func (l *Live) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reload()
}

// reloadIfChanged is Reload where the files hold something new.
func (l *Live) reloadIfChanged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fingerprint() != l.seen {
		_ = l.reload() // it logs what it refuses
	}
}

func (l *Live) reload() error {
	l.seen = l.fingerprint()
	c, err := l.reread()
	if err != nil {
		l.log.Error("the new configuration is refused, the old one goes on", "error", err)
		return err
	}
	before := l.current.Load()
	changed := changedPaths(before, c)
	if len(changed) == 0 {
		l.log.Info("reloaded, nothing changed")
		return nil
	}
	l.current.Store(c)
	l.log.Info("reloaded", "changed", names(changed))
	if waiting := needRestart(changed); len(waiting) > 0 {
		l.log.Warn("changed keys take effect at the next start only", "keys", names(waiting))
	}
	for _, w := range c.Warnings {
		l.log.Warn(w)
	}
	for _, f := range l.subs {
		f(before, c)
	}
	return nil
}

// reread refuses a file without a byte in it: that is what an editor's or a
// script's truncation looks like just before the new text is written, and to
// take it would put every value back to its default for that moment.
func (l *Live) reread() (*Config, error) {
	var empty Errors
	for _, name := range l.sources.Files {
		if stat, err := os.Stat(name); err == nil && stat.Size() == 0 {
			empty = append(empty, Problem{Rule: "is empty: still being written?", Where: name})
		}
	}
	c, err := Load(l.sources)
	if problems := (Errors)(nil); errors.As(err, &problems) {
		return nil, append(empty, problems...)
	}
	if err == nil {
		err = empty.errOrNil()
	}
	return c, err
}

// needRestart is those of the changed keys that a running process doesn't
// take over.
func needRestart(changed []path) (out []path) {
	for _, p := range changed {
		if n := schema.find(p); n != nil && n.restart {
			out = append(out, p)
		}
	}
	return out
}

func names(paths []path) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p.String()
	}
	return out
}
