package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/store"
)

func open(t *testing.T, dsn, schema string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: dsn, Schema: schema})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestTwoMigratorsAtOnceApplyEachStepOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, "empty", func(context.Context, string) error { return nil })
	ctx := context.Background()
	s := open(t, dsn, "")
	require.ErrorIs(t, s.Ready(ctx), store.ErrNoSchema)
	var applied [2]int
	var wg sync.WaitGroup
	for i := range applied {
		wg.Go(func() {
			done, err := s.Migrate(ctx)
			if err != nil {
				t.Error(err)
			}
			applied[i] = len(done)
		})
	}
	wg.Wait()
	all, err := store.Migrations("taskq")
	require.NoError(t, err)
	require.Equal(t, len(all), applied[0]+applied[1])
	require.NoError(t, s.Ready(ctx))
}

func TestASchemaOfAnotherNameIsIndependent(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, "empty", func(context.Context, string) error { return nil })
	ctx := context.Background()
	for _, name := range []string{"one", "two"} {
		s := open(t, dsn, name)
		_, err := s.Migrate(ctx)
		require.NoError(t, err)
		tenant, err := s.Tenant(ctx, store.DefaultTenant)
		require.NoError(t, err)
		_, err = s.Enqueue(ctx, tenant, []store.NewJob{{Queue: "q", Actor: "a"}})
		require.NoError(t, err)
		worker := store.NewID()
		require.NoError(t, s.Register(ctx, store.Worker{ID: worker, Name: name, Queues: []string{"*"}}, time.Minute))
		c, err := s.Claim(ctx, store.ClaimRequest{Queue: "q", Worker: worker, Lease: store.NewID(), Limit: 10})
		require.NoError(t, err)
		require.Len(t, c.Jobs, 1)
		require.NoError(t, s.EnsurePartitions(ctx))
	}
}

func TestAChangedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, "store", migrate)
	ctx := context.Background()
	s := open(t, dsn, "")
	_, err := s.Pool().Exec(ctx, "UPDATE taskq.migrations SET checksum = 'x'")
	require.NoError(t, err)
	_, err = s.Migrate(ctx)
	require.ErrorContains(t, err, "applied with another text")
	_, err = s.Pool().Exec(ctx, "DELETE FROM taskq.migrations; INSERT INTO taskq.migrations VALUES (9999, 'future', 'x')")
	require.NoError(t, err)
	_, err = s.Migrate(ctx)
	require.Error(t, err)
}

func TestTheDumpIsWhatMigrateApplies(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, "empty", func(context.Context, string) error { return nil })
	ctx := context.Background()
	s := open(t, dsn, "dumped")
	dump, err := store.DumpSQL("dumped")
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, dump)
	require.NoError(t, err)
	require.NoError(t, s.Ready(ctx))
}

func TestASchemasNameIsChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Taskq", "a b", "a;drop", "1a", `a"b`} {
		_, err := store.Open(context.Background(), store.Options{URL: "postgres://", Schema: name})
		require.ErrorContains(t, err, "database.schema")
	}
}
