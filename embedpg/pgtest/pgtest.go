package pgtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/taskq-host/taskq-host/embedpg"
)

// The supervisor is the test binary itself, and most test binaries have no
// TestMain that could say so.
func init() { embedpg.Supervise() }

// EnvURL names a server to use instead of a throwaway one.
const EnvURL = "TASKQ_TEST_DATABASE_URL"

// patience is for one step: starting the server, making or dropping a database.
const patience = 2 * time.Minute

var (
	once    sync.Once
	shared  *cluster
	openErr error
)

// New returns the connection string of a new database, which is dropped when
// the test ends; connections that are left then are cut. setup fills the
// template that databases of this name are cloned from. It runs once per name
// and server, not once per test, and must close its connections and not call
// New; the name must be used with one setup only. setup may be nil.
//
// The first test of a binary pays for the server (under a second) and the
// template, each further one 20 to 40 ms.
func New(t testing.TB, name string, setup func(ctx context.Context, dsn string) error) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := open(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	db, err := c.clone(ctx, name, setup)
	if err != nil {
		t.Fatalf("pgtest: %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.drop(ctx, db); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return c.dsn(db)
}

// open returns the process' one cluster. It is never closed: the kernel ends
// the use with the process.
func open(ctx context.Context) (*cluster, error) {
	once.Do(func() { shared, openErr = openCluster(ctx) })
	return shared, openErr
}
