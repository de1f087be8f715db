package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/server"
	"github.com/taskq-host/taskq-host/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// bundle is an API over a database of the test's own, with two tenants.
type bundle struct {
	t     testing.TB
	ctx   context.Context
	dsn   string
	store *store.Store
	api   *server.Server
	url   string
	http  *http.Client

	tenant, other store.Tenant
	token         string // of tenant, admin
	otherToken    string // of other, admin
}

func migrate(ctx context.Context, dsn string) error {
	s, err := store.Open(ctx, store.Options{URL: dsn})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Migrate(ctx)
	return err
}

const testConfig = `
config_version: 1
queues:
  slow: {retry: {base: 10s, cap: 1m}}
  big: {limits: {max_payload: 2MiB}}
tenants:
  default:
    ceilings: {max_attempts: 10, start_to_close: 10m}
    queues: {own: {retry: {max_attempts: 2}}}
    actors: {charge: {queue: payments.charge}}
`

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	b := &bundle{t: t, ctx: ctx, dsn: pgtest.New(t, "server", migrate), http: &http.Client{}}
	t.Cleanup(b.http.CloseIdleConnections)
	var err error
	b.store, err = store.Open(ctx, store.Options{URL: b.dsn})
	require.NoError(t, err)
	t.Cleanup(b.store.Close)
	engine, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	modules, err := catalog.New(b.store, engine, nil)
	require.NoError(t, err)
	b.api, err = server.New(server.Options{Store: b.store, Catalog: modules, Config: liveConfig(t, testConfig), Version: "test"})
	require.NoError(t, err)
	t.Cleanup(b.api.Close)
	front := httptest.NewServer(b.api)
	t.Cleanup(front.Close)
	b.url = front.URL

	b.tenant, err = b.store.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	_, err = b.store.Pool().Exec(ctx, "INSERT INTO taskq.tenants (tenant_id, name) VALUES (2, 'other')")
	require.NoError(t, err)
	b.other, err = b.store.Tenant(ctx, "other")
	require.NoError(t, err)
	b.token, b.otherToken = b.issue(b.tenant, "admin"), b.issue(b.other, "admin")
	return b
}

// in is the bundle for a subtest.
func (b *bundle) in(t testing.TB) *bundle {
	c := *b
	c.t = t
	return &c
}

func liveConfig(t testing.TB, text string) *config.Live {
	t.Helper()
	file := filepath.Join(t.TempDir(), "taskq.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	live, err := config.Open(config.Sources{Files: []string{file}}, nil)
	require.NoError(t, err)
	return live
}

func (b *bundle) issue(tenant store.Tenant, role string) string {
	b.t.Helper()
	token, err := b.store.IssueToken(b.ctx, tenant, "test-"+role, role)
	require.NoError(b.t, err)
	return token
}

// call is a request with the tenant's token.
type call struct {
	method, path string
	body         string
	token        string            // "": the tenant's; "-": none
	headers      map[string]string // Content-Type is application/json unless said
}

type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (b *bundle) do(c call) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, c.method, b.url+c.path, strings.NewReader(c.body))
	require.NoError(b.t, err)
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token == "" {
		c.token = b.token
	}
	if c.token != "-" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	res, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return answer{b.t, res.StatusCode, res.Header, body}
}

func (b *bundle) get(path string) answer { b.t.Helper(); return b.do(call{method: "GET", path: path}) }
func (b *bundle) post(path, body string) answer {
	b.t.Helper()
	return b.do(call{method: "POST", path: path, body: body})
}

// into decodes an answer strictly: a field that the type doesn't have fails.
func into[T any](a answer, status int) T {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	var v T
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	require.NoError(a.t, d.Decode(&v), "%s", a.body)
	return v
}

func (a answer) problem(status int) server.Problem {
	a.t.Helper()
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"), "%s", a.body)
	p := into[server.Problem](a, status)
	require.Equal(a.t, status, p.Status)
	return p
}

// breaks requires a problem with these places, each with a rule.
func (a answer) breaks(status int, locations ...string) server.Problem {
	a.t.Helper()
	p := a.problem(status)
	var found []string
	for _, e := range p.Errors {
		require.NotEmpty(a.t, e.Rule)
		found = append(found, e.Location)
	}
	require.ElementsMatch(a.t, locations, found, "%s", a.body)
	return p
}

func (b *bundle) enqueue(body string) server.EnqueuedJob {
	b.t.Helper()
	return into[server.EnqueuedJob](b.post("/v1/jobs", body), 201)
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name))
	require.NoError(t, err)
	return wasm
}

func (b *bundle) push(name string, wasm []byte, query string) answer {
	b.t.Helper()
	return b.do(call{method: "PUT", path: "/v1/actors/" + name + query, body: string(wasm), headers: map[string]string{"Content-Type": "application/wasm"}})
}
