//go:build linux || darwin

package embedpg

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// password is the one for TCP. Whoever started the server makes it if need be
// and sets it: the file may be newer than the cluster, or the other way round.
func (f *folder) password(ctx context.Context, dsn string, set bool) (string, error) {
	b, err := f.root.ReadFile(passwordName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	password := strings.TrimSpace(string(b))
	if password == "" {
		password, set = rand.Text(), true
		if err := f.replace(passwordName, []byte(password+"\n")); err != nil {
			return "", err
		}
	}
	if !set {
		return password, nil
	}
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	// The password is made of letters and digits: it needs no quoting.
	_, err = conn.Exec(ctx, "alter role "+Role+" password '"+password+"'").ReadAll()
	return password, errors.Join(err, conn.Close(ctx))
}
