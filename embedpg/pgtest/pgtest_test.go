package pgtest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/embedpg/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var setups atomic.Int32

func schema(ctx context.Context, dsn string) error {
	setups.Add(1)
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `create table job (id bigint generated always as identity primary key, state text not null)`); err != nil {
		return err
	}
	return c.Close(ctx)
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return c
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b", "c", "d"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, pgtest.New(t, "jobs", schema))
			var id, count int
			require.NoError(t, c.QueryRow(t.Context(), "insert into job (state) values ('new') returning id").Scan(&id))
			require.NoError(t, c.QueryRow(t.Context(), "select count(*) from job").Scan(&count))
			require.Equal(t, 1, id)
			require.Equal(t, 1, count)
			require.LessOrEqual(t, setups.Load(), int32(1), "setup runs once")
		})
	}
}
