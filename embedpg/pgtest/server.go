package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/taskq-host/taskq-host/embedpg"
)

// linger keeps the server from one package's tests to the next ones'.
const linger = 20 * time.Second

// serverDSN finds or starts the server, and returns what makes connection
// strings of its databases.
func serverDSN(ctx context.Context) (func(db string) string, error) {
	if given := os.Getenv(EnvURL); given != "" {
		u, err := url.Parse(given)
		if err != nil || u.Scheme == "" {
			return nil, fmt.Errorf("%s is not a database url", EnvURL) // it may hold a password
		}
		return func(db string) string {
			of := *u
			of.Path, of.RawPath = "/"+db, ""
			return of.String()
		}, nil
	}
	dir, err := serverDir()
	if err != nil {
		return nil, err
	}
	s, err := embedpg.Start(ctx, embedpg.Options{Dir: dir, Throwaway: true, Linger: linger,
		Settings: map[string]string{"max_connections": "500"}})
	if err != nil {
		return nil, err
	}
	return s.DSN, nil
}

// serverDir is in memory where there is room: creating a database is ten
// times as fast there. Below a folder that everybody writes to, it must be
// ours.
func serverDir() (string, error) {
	const memory, room = "/dev/shm", 1 << 30
	base := os.TempDir()
	if freeBytes(memory) >= room {
		base = memory
	}
	dir := filepath.Join(base, fmt.Sprintf("taskq-pgtest-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !os.IsExist(err) {
		return "", err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() || !owned(fi) {
		return "", fmt.Errorf("%s is not a folder of this user", dir)
	}
	// The account that root's postgres runs as must get in, whatever the umask.
	return filepath.Join(dir, "pg"), os.Chmod(dir, 0o711)
}
