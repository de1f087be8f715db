package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

type bundle struct {
	*catalog.Catalog
	t      testing.TB
	ctx    context.Context
	dsn    string
	store  *store.Store
	tenant store.Tenant
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

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	dsn := pgtest.New(t, "catalog", migrate)
	s, err := store.Open(ctx, store.Options{URL: dsn})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	tenant, err := s.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	return &bundle{Catalog: over(t, s), t: t, ctx: ctx, dsn: dsn, store: s, tenant: tenant}
}

// over is a catalog of another process over the same store.
func over(t testing.TB, s *store.Store) *catalog.Catalog {
	t.Helper()
	e, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	c, err := catalog.New(s, e, nil)
	require.NoError(t, err)
	return c
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	require.NoError(t, err)
	return wasm
}

func (b *bundle) push(name, module string) *catalog.Pushed {
	b.t.Helper()
	p, err := b.Push(b.ctx, b.tenant, name, fixture(b.t, module))
	require.NoError(b.t, err)
	return p
}

func TestRunnableRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pushed := b.push("echo", "echo")
	for name, c := range map[string]*catalog.Catalog{"where it was pushed": b.Catalog, "in another process": over(t, b.store)} {
		r, err := c.Runnable(b.ctx, b.tenant, "echo", 0)
		require.NoError(t, err, name)
		require.Equal(t, pushed.Report.Digest, r.Digest)
		require.Equal(t, 1, r.Version)
		out := r.Module.Run(b.ctx, host.Attempt{Kind: abi.KindRun, Input: []byte(`{"a":1}`)})
		require.Equal(t, host.Succeeded, out.Kind, "%+v", out)
		require.JSONEq(t, `{"a":1}`, string(out.Result))
	}
}

func TestCurrentVersionIsASecondStaleAtMost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	worker := over(t, b.store)
	worker.SetClock(func() time.Time { return now })
	version := func() int {
		t.Helper()
		r, err := worker.Runnable(b.ctx, b.tenant, "a", 0)
		if errors.Is(err, store.ErrNotFound) {
			return 0
		}
		require.NoError(t, err)
		return r.Version
	}
	require.Zero(t, version())
	b.push("a", "noop")
	require.Zero(t, version(), "that there is none is kept too")
	now = now.Add(time.Second)
	require.Equal(t, 1, version())
	b.push("a", "echo")
	now = now.Add(time.Second - 1)
	require.Equal(t, 1, version())
	now = now.Add(1)
	require.Equal(t, 2, version())
	require.NoError(t, b.Delete(b.ctx, b.tenant, "a"))
	require.Equal(t, 2, version())
	now = now.Add(time.Second)
	require.Zero(t, version())

	_, err := b.Runnable(b.ctx, b.tenant, "a", 0)
	require.ErrorIs(t, err, store.ErrNotFound, "who deleted it knows at once")
	b.push("a", "noop")
	r, err := b.Runnable(b.ctx, b.tenant, "a", 7)
	require.NoError(t, err, "a job for another version runs the latest")
	require.Equal(t, 1, r.Version)
}

func TestAStaleAnswerAboutADeletedModuleIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	worker := over(t, b.store)
	worker.SetClock(func() time.Time { return now })
	b.push("a", "noop")
	_, err := worker.Description(b.ctx, b.tenant, "a") // an answer, and no module yet
	require.NoError(t, err)
	require.NoError(t, b.Delete(b.ctx, b.tenant, "a"))
	_, err = worker.Runnable(b.ctx, b.tenant, "a", 0)
	require.ErrorIs(t, err, store.ErrNotFound)

	b.push("a", "noop")
	now = now.Add(time.Second)
	_, err = worker.Description(b.ctx, b.tenant, "a")
	require.NoError(t, err)
	require.NoError(t, b.Delete(b.ctx, b.tenant, "a"))
	b.push("a", "echo")
	r, err := worker.Runnable(b.ctx, b.tenant, "a", 0)
	require.NoError(t, err)
	require.Equal(t, fixtureDigest(t, b, "echo"), r.Digest)
}

func fixtureDigest(t *testing.T, b *bundle, name string) string {
	p, err := b.DryRun(b.ctx, b.tenant, "x", fixture(t, name))
	require.NoError(t, err)
	return p.Report.Digest
}

func TestTheDatabaseGoneALastAnswerGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	worker := over(t, b.store)
	worker.SetClock(func() time.Time { return now })
	b.push("a", "noop")
	_, err := worker.Runnable(b.ctx, b.tenant, "a", 0)
	require.NoError(t, err)
	b.shutOut()
	now = now.Add(time.Hour)
	r, err := worker.Runnable(b.ctx, b.tenant, "a", 0)
	require.NoError(t, err)
	require.Equal(t, 1, r.Version)
	_, err = worker.Runnable(b.ctx, b.tenant, "never-seen", 0)
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrNotFound, "not knowing isn't knowing that there is none")
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

func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.push("a", "noop")
	worker := over(t, b.store)
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for range cap(errs) {
		all.Go(func() {
			_, err := worker.Runnable(b.ctx, b.tenant, "a", 0)
			errs <- err
		})
	}
	all.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

func TestTenantsHaveTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.Pool().Exec(b.ctx, "INSERT INTO taskq.tenants (tenant_id, name) VALUES (2, 'other')")
	require.NoError(t, err)
	other, err := b.store.Tenant(b.ctx, "other")
	require.NoError(t, err)
	b.push("a", "noop")
	_, err = b.Runnable(b.ctx, other, "a", 0)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, b.Delete(b.ctx, other, "a"), store.ErrNotFound)
	p, err := b.Push(b.ctx, other, "a", fixture(t, "echo"))
	require.NoError(t, err)
	require.Equal(t, 1, p.Version)
	mine, err := b.Show(b.ctx, b.tenant, "a")
	require.NoError(t, err)
	require.Len(t, mine.Digest, 32)
	require.NotEqual(t, fmt.Sprintf("%x", mine.Digest), p.Report.Digest)
}

func TestDescriptionIsTheLowestLayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.push("charge", "describe")
	require.Equal(t, "charge", p.Manifest.Name)
	patch, err := b.Description(b.ctx, b.tenant, "charge")
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, *patch.StartToClose)
	patch, err = b.Description(b.ctx, b.tenant, "unknown")
	require.NoError(t, err)
	require.Equal(t, config.Patch{}, patch)
	r, err := b.Runnable(b.ctx, b.tenant, "charge", 0)
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, *r.Description.StartToClose)
}

func TestDescriptionsThatCouldNeverHoldAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct{ manifest, says string }{
		"base 0":               {`{"retry": {"base": "0s"}}`, "retry.base"},
		"cap below base":       {`{"retry": {"base": "10s", "cap": "5s"}}`, "retry.cap"},
		"jitter 1.5":           {`{"retry": {"jitter": 1.5}}`, "retry.jitter"},
		"max_attempts 0":       {`{"retry": {"max_attempts": 0}}`, "retry.max_attempts"},
		"max_attempts 32767":   {`{"retry": {"max_attempts": 32767}}`, "retry.max_attempts"},
		"an unknown key":       {`{"retry": {"bogus": 1}}`, "retry.bogus"},
		"a limit that is none": {`{"start_to_close": "soon"}`, "start_to_close"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Push(b.ctx, b.tenant, "bad", describing(c.manifest))
			var refusal *host.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, catalog.RuleManifest, refusal.Rule)
			require.Contains(t, refusal.Message, c.says)
		})
	}
	_, err := b.Show(b.ctx, b.tenant, "bad")
	require.ErrorIs(t, err, store.ErrNotFound)
	p, err := b.Push(b.ctx, b.tenant, "good", describing(`{"retry": {"kind": "indefinite", "base": "1s"}}`))
	require.NoError(t, err)
	require.NotEmpty(t, p.Warnings, "indefinite without a budget")
}

// describing is a reactor whose description is the text.
func describing(manifest string) []byte {
	leb := func(n int) []byte {
		var out []byte
		for {
			b := byte(n & 0x7f)
			if n >>= 7; n == 0 {
				return append(out, b)
			}
			out = append(out, b|0x80)
		}
	}
	signed := func(n int) []byte { // two bytes hold up to 8191 with a clear sign bit
		return []byte{byte(n&0x7f) | 0x80, byte(n >> 7 & 0x3f)}
	}
	text := func(s string) []byte { return append(leb(len(s)), s...) }
	section := func(id byte, parts ...[]byte) []byte {
		var body []byte
		for _, p := range parts {
			body = append(body, p...)
		}
		return append(append([]byte{id}, leb(len(body))...), body...)
	}
	body := append([]byte{0x00, 0x41, 0x00, 0x41}, signed(len(manifest))...)
	body = append(body, 0x10, 0x00, 0x0b) // call output_write
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, []byte{2, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f})...)
	out = append(out, section(2, []byte{1}, text("taskq_v1"), text("output_write"), []byte{0, 0})...)
	out = append(out, section(3, []byte{2, 1, 1})...)
	out = append(out, section(5, []byte{1, 0, 1})...)
	out = append(out, section(7, []byte{3}, text("memory"), []byte{2, 0}, text("taskq_v1_run"), []byte{0, 1}, text("taskq_v1_describe"), []byte{0, 2})...)
	out = append(out, section(10, []byte{2, 4, 0x00, 0x41, 0x00, 0x0b}, leb(len(body)), body)...)
	return append(out, section(11, []byte{1, 0, 0x41, 0, 0x0b}, text(manifest))...)
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Push(b.ctx, b.tenant, "Bad", fixture(t, "noop"))
	var refusal *host.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, catalog.RuleName, refusal.Rule)
}
