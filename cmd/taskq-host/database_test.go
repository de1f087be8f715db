package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestADatabaseThatCantServeIsSaidInALine(t *testing.T) {
	t.Parallel()
	readOnly := emptyDatabase(t)
	conn, err := pgx.Connect(t.Context(), readOnly)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize()+" SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	u := newUser(t)
	file := u.file("file", "")
	for _, c := range []struct {
		name, says string
		code       int
		args       []string
	}{
		{"down", "connection refused", exitUnreachable, []string{"--set", "database.url=postgres://127.0.0.1:1/x"}},
		{"read-only", "is read-only; connect to the primary", exitFailed, []string{"--set", "database.url=" + readOnly}},
		{"no Postgres installed", "/nowhere", exitFailed, []string{"--postgres-bin", "/nowhere"}},
		{"a data folder that can't be made", file, exitFailed, []string{"--data-dir", file + "/pg"}},
	} {
		for _, command := range [][]string{{"migrate"}, {"dev", "--listen", "127.0.0.1:0"}, {"worker"}} {
			t.Run(c.name+" "+command[0], func(t *testing.T) {
				t.Parallel()
				r := u.run(append(command, c.args...)...)
				require.Equal(t, c.code, r.code, r.stderr)
				require.Contains(t, r.stderr, c.says)
				require.LessOrEqual(t, strings.Count(r.stderr, "connection refused"), 1, r.stderr)
				last := r.stderr[strings.LastIndex(strings.TrimSpace(r.stderr), "\n")+1:]
				require.True(t, strings.HasPrefix(last, "taskq-host: "), r.stderr)
			})
		}
	}
}
