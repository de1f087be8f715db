package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

func bombs(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "wasm", "bombs", "*.wasm"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	return files
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	served := b.do(call{method: "GET", path: "/openapi.json", token: "-"}).body
	golden := filepath.Join("..", "docs", "openapi.json")
	if *update {
		require.NoError(t, os.WriteFile(golden, served, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(served), "docs/openapi.json is old: go test ./server -run TestOpenAPI -update")

	var doc struct {
		OpenAPI    string
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(served, &doc))
	require.True(t, strings.HasPrefix(doc.OpenAPI, "3.1"))
	known, later := server.EnqueueFieldNames()
	var documented []string
	for name := range doc.Components.Schemas["EnqueueRequest"].Properties {
		documented = append(documented, name)
	}
	require.ElementsMatch(t, known, documented, "the schema and the reader know the same fields")
	for _, name := range later {
		require.False(t, slices.Contains(known, name), "%s is offered and isn't", name)
	}
	docs := string(b.do(call{method: "GET", path: "/docs", token: "-"}).body)
	for _, says := range []string{"POST /v1/jobs", "PUT /v1/actors/{name}", "schedule_to_close", "EnqueueRequest"} {
		require.Contains(t, docs, says)
	}
	require.NotContains(t, docs, "<script")
}

func TestPathsThatAreNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.get("/v1/nonsense").problem(404)
	b.get("/nonsense").problem(404)
	a := b.do(call{method: "DELETE", path: "/v1/jobs"})
	a.problem(405)
	require.Equal(t, "GET, HEAD, POST", a.header.Get("Allow"))
	b.do(call{method: "POST", path: "/healthz"}).problem(405)
}

func TestPanicsAreNobodysBusiness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.api.Recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret of the house") }))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, 500, rec.Code)
	require.NotContains(t, rec.Body.String(), "secret")
	require.Contains(t, rec.Body.String(), "urn:uuid:")
}

func TestSlowBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.api.SetBodyTime(50 * time.Millisecond)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", b.token)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 408, res.StatusCode)
}

func TestTroubleOfTheDatabase(t *testing.T) {
	t.Parallel()
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		id := b.enqueue(`{"actor": "a"}`).ID
		_, err := b.store.Pool().Exec(b.ctx, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$")
		require.NoError(t, err)
		// Sessions that are open keep what they began with.
		_, _ = b.store.Pool().Exec(b.ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		b.store.Pool().Reset()
		eventually(t, func() bool { return b.post("/v1/jobs", `{"actor": "a"}`).status == 503 })
		a := b.post("/v1/jobs", `{"actor": "a"}`)
		require.Contains(t, a.problem(503).Detail, "read-only")
		require.Equal(t, "5", a.header.Get("Retry-After"))
		eventually(t, func() bool { return b.get("/v1/jobs/"+id).status == 200 }) // looking goes on
		eventually(t, func() bool { return b.get("/readyz").status == 503 })
		require.JSONEq(t, `{"ready": false, "database": "read-only"}`, string(b.get("/readyz").body))
		require.Equal(t, 200, b.get("/healthz").status)
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		require.Equal(t, 200, b.get("/v1/jobs").status)
		b.shutOut()
		b.get("/v1/jobs").problem(503)
		a := b.post("/v1/jobs", `{"actor": "a"}`)
		a.problem(503)
		require.Equal(t, "5", a.header.Get("Retry-After"))
		b.do(call{method: "GET", path: "/v1/jobs", token: b.otherToken}).problem(503)
		require.JSONEq(t, `{"ready": false, "database": "unreachable"}`, string(b.get("/readyz").body))
	})
	t.Run("not migrated", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		require.Equal(t, 200, b.get("/v1/jobs").status)
		_, err := b.store.Pool().Exec(b.ctx, "DROP SCHEMA taskq CASCADE")
		require.NoError(t, err)
		b.get("/v1/jobs").problem(503)
		require.JSONEq(t, `{"ready": false, "database": "not migrated"}`, string(b.get("/readyz").body))
	})
}

// shutOut ends every connection to the test's database and lets none in.
func (b *bundle) shutOut() {
	b.t.Helper()
	cfg, err := pgx.ParseConfig(b.dsn)
	require.NoError(b.t, err)
	name := cfg.Database
	cfg.Database = "postgres"
	conn, err := pgx.ConnectConfig(b.ctx, cfg)
	require.NoError(b.t, err)
	defer conn.Close(b.ctx)
	_, err = conn.Exec(b.ctx, "ALTER DATABASE "+pgx.Identifier{name}.Sanitize()+" ALLOW_CONNECTIONS false")
	require.NoError(b.t, err)
	_, err = conn.Exec(b.ctx, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", name)
	require.NoError(b.t, err)
}

// eventually asks again until it holds: what it waits for is the database's.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, 10*time.Second, 20*time.Millisecond)
}

func TestServe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, err := server.Listen(b.ctx, "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	_, err = server.Listen(b.ctx, address)
	require.ErrorContains(t, err, address+" is in use by another process")

	ctx, stop := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.api.Serve(ctx, l) }()
	b.url = "http://" + address
	id := b.enqueue(`{"actor": "a", "delay": "1h"}`).ID

	waited := make(chan answer, 1)
	go func() { waited <- b.get("/v1/jobs/" + id + "?wait=1m") }()
	eventually(t, b.api.SomebodyWaits)
	stop()
	require.Equal(t, "scheduled", into[server.Job](<-waited, 200).Status, "who waits is answered")
	require.NoError(t, <-ended)
	_, err = net.Dial("tcp", address)
	require.Error(t, err)
}

func TestServeSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, err := server.Listen(b.ctx, "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, b.api.Serve(b.ctx, l), net.ErrClosed)
}

func TestWakeUpsAreCoalesced(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sent := map[string]int{}
	first := make(chan struct{})
	release := make(chan struct{})
	var once sync.Once
	w := server.NewWakeups(func(_ context.Context, queue string) error {
		once.Do(func() { close(first); <-release })
		mu.Lock()
		defer mu.Unlock()
		sent[queue]++
		return io.EOF // one that is lost is nobody's trouble
	})
	w.Wake("a")
	<-first
	for range 1000 {
		w.Wake("a")
		w.Wake("b")
	}
	close(release)
	w.Close()
	require.Equal(t, map[string]int{"a": 2, "b": 1}, sent)
}

func TestNewWantsItsParts(t *testing.T) {
	t.Parallel()
	_, err := server.New(server.Options{})
	require.ErrorContains(t, err, "store, catalog and config are needed")
}
