package config

import (
	"context"
	"crypto/sha256"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long after the first sign of a change the files are read:
	// most writers are done by then.
	settle = 100 * time.Millisecond
	// lookAnyway finds what the notifications missed, as on network file
	// systems they do.
	lookAnyway = 10 * time.Second
)

// Watch reloads on SIGHUP and when a file's content changes, until ctx ends.
// It owns what it starts and returns nil when all of that has ended. Where
// the system offers no notifications it looks every few seconds.
func (l *Live) Watch(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	events, failures := make(chan fsnotify.Event), make(chan error)
	if w, err := l.watcher(); err != nil {
		l.log.Warn("no notifications of changed files, looking every few seconds", "error", err)
	} else {
		defer func() { _ = w.Close() }()
		events, failures = w.Events, w.Errors
	}
	look := time.NewTicker(lookAnyway)
	defer look.Stop()
	settled := time.NewTimer(0)
	settled.Stop()
	pending := false

	l.reloadIfChanged() // what came between Open and the first notification
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
			l.log.Info("SIGHUP: reloading")
			_ = l.Reload() // it logs what it refuses
			continue
		case err, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			l.log.Warn("watching the files", "error", err)
			continue
		case _, open := <-events:
			if !open {
				events = nil
			} else if !pending {
				// Not put off by further events: a busy folder would put
				// it off for ever.
				pending = true
				settled.Reset(settle)
			}
			continue
		case <-settled.C:
			pending = false
		case <-look.C:
		}
		l.reloadIfChanged()
	}
}

// watcher watches the folders, not the files: an editor, and Kubernetes too,
// puts a new file in the place of the old one.
func (l *Live) watcher() (*fsnotify.Watcher, error) {
	var folders []string
	for _, name := range l.sources.Files {
		folders = append(folders, filepath.Dir(name))
		if target, err := filepath.EvalSymlinks(name); err == nil {
			folders = append(folders, filepath.Dir(target))
		}
	}
	slices.Sort(folders)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Compact(folders) {
		if err := w.Add(folder); err != nil {
			_ = w.Close()
			return nil, err
		}
	}
	return w, nil
}

// fingerprint is a digest of what the files hold now, or of why they can't be
// read.
func (l *Live) fingerprint() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range l.sources.Files {
		data, err := readBounded(name)
		if err != nil {
			data = []byte(err.Error())
		}
		sum := sha256.Sum256(data)
		_, _ = h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
