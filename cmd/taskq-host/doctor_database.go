package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg"
)

func checkConfig(cmd *cobra.Command) (*config.Config, []finding) {
	s, err := sources(cmd)
	if err == nil {
		var c *config.Config
		if c, err = config.Load(s); err == nil {
			findings := []finding{ok("config", "%s", filesOrNone(s.Files))}
			for _, w := range c.Warnings {
				findings = append(findings, warn("config", "", "%s", w))
			}
			return c, findings
		}
	}
	var problems config.Errors
	if !errors.As(err, &problems) {
		return nil, []finding{fail("config", "correct it", "%v", err)}
	}
	var findings []finding
	for _, p := range problems {
		findings = append(findings, fail("config", "correct it; taskq-host config check looks again", "%s", p))
	}
	return nil, findings
}

// binaries looks for the programs of the embedded Postgres.
func (d *doctor) binaries(ctx context.Context) []finding {
	found, err := embedpg.Find(ctx, embeddedOptions(d.cmd, d.log))
	if err != nil {
		return []finding{fail("postgres", "", "%v", err)}
	}
	return []finding{ok("postgres", "%s", found)}
}

// Free space of the data folder: a queue that runs out of it stops.
const (
	littleSpace = 1 << 30
	noSpace     = 128 << 20
)

// dataFolder looks at the folder of the embedded Postgres, or at where it
// would be made.
func (d *doctor) dataFolder(context.Context) []finding {
	dir, err := d.folder()
	if err != nil {
		return []finding{fail("data folder", "", "%v", err)}
	}
	there := existing(dir)
	if err := writableFolder(there); err != nil {
		return []finding{fail("data folder", "give it to the user that runs the host, or choose another with --data-dir", "%v", err)}
	}
	free, err := freeSpace(there)
	switch {
	case err != nil:
		return []finding{warn("data folder", "", "%s is writable; its free space is unknown: %v", dir, err)}
	case free < noSpace:
		return []finding{fail("data folder", "make room", "%s has only %s left", dir, sizeText(free))}
	case free < littleSpace:
		return []finding{warn("data folder", "make room", "%s has only %s left", dir, sizeText(free))}
	}
	return []finding{ok("data folder", "%s, %s free", dir, sizeText(free))}
}

func (d *doctor) folder() (string, error) {
	dir := embeddedOptions(d.cmd, d.log).Dir
	if dir == "" {
		return embedpg.DefaultDir()
	}
	return filepath.Abs(dir)
}

// existing is the nearest folder above path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

func writableFolder(path string) error {
	if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
		return fmt.Errorf("%s isn't a folder", path)
	}
	return writable(path)
}

// database connects and looks at the server. The embedded one is started for
// that if it has data; a doctor doesn't make any.
func (d *doctor) database(ctx context.Context) []finding {
	if d.cfg.Database.URL == "" {
		dir, err := d.folder()
		if err != nil {
			return nil // said by dataFolder
		}
		if _, err := os.Stat(filepath.Join(dir, "data")); errors.Is(err, os.ErrNotExist) {
			return []finding{ok("database", "the embedded one, not made yet: the first taskq-host dev makes it")}
		}
	}
	db, err := openDatabase(ctx, d.cmd, d.cfg.Database, d.log)
	if err != nil {
		return []finding{fail("database", "start it, or correct database.url", "%v", err)}
	}
	findings := append(d.health(ctx, db), clock(ctx, db)...)
	if err := db.close(); err != nil {
		findings = append(findings, warn("database", "", "closing: %v", err))
	}
	return findings
}

func (d *doctor) health(ctx context.Context, db *database) []finding {
	h, err := db.Check(ctx)
	switch {
	case err != nil:
		return []finding{fail("database", "", "%v", err)}
	case h.ReadOnly:
		return []finding{fail("database", "connect to the primary", "Postgres %s is read-only", h.Version)}
	case !h.Migrated && d.cfg.Database.URL == "": // after a demo alone, or an upgrade
		return []finding{ok("database", "the embedded one, Postgres %s; the next taskq-host dev makes or updates schema %s", h.Version, h.Schema)}
	case !h.Migrated:
		return []finding{fail("database", "type: taskq-host migrate", "Postgres %s, schema %s isn't there or isn't up to date", h.Version, h.Schema)}
	}
	return []finding{ok("database", "Postgres %s, schema %s is up to date", h.Version, h.Schema)}
}

// skewWarning is how far the clocks may differ before it is worth a word. The
// database's decides all times, so a difference confuses people, not jobs.
const skewWarning = 2 * time.Second

func clock(ctx context.Context, db *database) []finding {
	var theirs time.Time
	before := time.Now()
	if err := db.Pool().QueryRow(ctx, "SELECT clock_timestamp()").Scan(&theirs); err != nil {
		return []finding{warn("clock", "", "%v", err)}
	}
	took := time.Since(before)
	skew := theirs.Sub(before.Add(took / 2)).Round(time.Millisecond)
	if skew.Abs() > skewWarning {
		return []finding{warn("clock", "set up time synchronisation", "this machine's clock and the database's differ by %v", skew.Abs())}
	}
	return []finding{ok("clock", "%v from the database's", skew.Abs())}
}
