//go:build linux || darwin

package embedpg_test

import (
	"context"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
)

func TestManyAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const many = 8
	var (
		wg     sync.WaitGroup
		starts atomic.Int32
		all    [many]*embedpg.Server
		errs   [many]error
	)
	for i := range many {
		wg.Go(func() {
			all[i], errs[i] = embedpg.Start(t.Context(), p.options())
			if errs[i] == nil && all[i].Started() {
				starts.Add(1)
			}
		})
	}
	wg.Wait()
	for i := range many {
		require.NoError(t, errs[i])
		require.Equal(t, 1, query[int](t, all[i].DSN("postgres"), "select 1"))
		require.NoError(t, all[i].Close())
	}
	require.EqualValues(t, 1, starts.Load())
}

func TestTwoHostsAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var wg sync.WaitGroup
	var hosts [2]*hostProcess
	for i := range hosts {
		wg.Go(func() { hosts[i] = p.launch(t, hostPlan{Options: p.options()}) })
	}
	wg.Wait()
	require.NotNil(t, hosts[0])
	require.NotNil(t, hosts[1])
	a, b := hosts[0].first, hosts[1].first
	require.Empty(t, a.Error+b.Error)
	require.NotEqual(t, a.Started, b.Started, "one starts, one joins")
	require.Equal(t, a.Status.Postmaster, b.Status.Postmaster)
	hosts[0].leave(t)
	require.Equal(t, 1, query[int](t, b.DSN, "select 1"))
	hosts[1].leave(t)
}

func TestThrowawayDataGoesWithTheLastUser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	o := p.options()
	o.Throwaway, o.Linger = true, time.Second
	first := p.start(t, o)
	require.Equal(t, "off", query[string](t, first.DSN("postgres"), "show fsync"))
	require.NoError(t, first.Close())

	second := p.start(t, o)
	require.False(t, second.Started(), "the server lingers")
	require.DirExists(t, p.file("data"))
	_, err := embedpg.Start(t.Context(), p.options())
	require.ErrorContains(t, err, "throwaway", "durable data must not go there")
	require.NoError(t, second.Close())

	p.awaitStop(t)
	require.NoDirExists(t, p.file("data"))
	require.NoFileExists(t, p.file("throwaway"))
}

func TestThrowawayDataOfAnEarlierBootIsMadeAnew(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/sys/kernel/random/boot_id"); err != nil {
		t.Skip("the system doesn't tell boots apart")
	}
	p := newPlace(t)
	o := p.options()
	o.Throwaway = true
	h := p.launch(t, hostPlan{Options: o})
	require.Empty(t, h.first.Error)
	before := query[string](t, h.first.DSN, "select system_identifier::text from pg_control_system()")
	require.NoError(t, os.WriteFile(p.file("throwaway"), []byte("another boot"), 0o600))
	p.killAll(t, h)
	s := p.start(t, o)
	require.NotEqual(t, before, query[string](t, s.DSN("postgres"), "select system_identifier::text from pg_control_system()"))
	require.NoError(t, s.Close())
}

func TestDurableDataIsNeverServedAsThrowaway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, p.options())
	require.Equal(t, "on,on,on", query[string](t, s.DSN("postgres"),
		"select concat_ws(',', current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'))"))
	o := p.options()
	o.Throwaway = true
	_, err := embedpg.Start(t.Context(), o)
	require.ErrorContains(t, err, "durable", "while it runs")
	require.NoError(t, s.Close())
	p.awaitStop(t)
	_, err = embedpg.Start(t.Context(), o)
	require.ErrorContains(t, err, "durable", "when it doesn't run")
	require.DirExists(t, p.file("data"))
}

func TestTCP(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	o := p.options()
	plain := p.start(t, o)
	require.Empty(t, plain.TCPDSN("postgres"))
	require.Empty(t, query[string](t, plain.DSN("postgres"), "show listen_addresses"))
	o.TCP = true
	_, err := embedpg.Start(t.Context(), o)
	require.ErrorContains(t, err, "without TCP")
	require.NoError(t, plain.Close())
	p.awaitStop(t)

	s := p.start(t, o)
	require.Equal(t, "127.0.0.1", query[string](t, s.TCPDSN("postgres"), "select host(inet_server_addr())"))
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.Equal(t, "scram-sha-256", query[string](t, s.DSN("postgres"),
		"select string_agg(distinct auth_method, ',') from pg_hba_file_rules where type = 'host'"))
	wrong, err := url.Parse(s.TCPDSN("postgres"))
	require.NoError(t, err)
	wrong.User = url.UserPassword(embedpg.Role, "wrong")
	_, err = pgx.Connect(t.Context(), wrong.String())
	require.ErrorContains(t, err, "password authentication failed")

	// Whoever asks for less joins, and connection strings outlive a restart.
	joined := p.start(t, p.options())
	require.Equal(t, s.TCPDSN("postgres"), joined.TCPDSN("postgres"))
	require.NoError(t, joined.Close())
	require.NoError(t, s.Close())
	p.awaitStop(t)
	again := p.start(t, o)
	require.Equal(t, s.TCPDSN("postgres"), again.TCPDSN("postgres"))
	require.NoError(t, again.Close())
}

func TestPatienceOfOneCallerEndsNoStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := embedpg.Start(ctx, p.options())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	s := p.start(t, p.options())
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.NoError(t, s.Close())
}

func TestAHalfMadeClusterIsMadeAnew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.MkdirAll(p.file("data.new/base"), 0o755))
	require.NoError(t, os.Chmod(p.dir, 0o711))
	require.NoError(t, os.WriteFile(p.file("data.new/PG_VERSION"), []byte("15\n"), 0o600))
	s := p.start(t, p.options())
	require.NoDirExists(t, p.file("data.new"))
	require.Equal(t, 1, query[int](t, s.DSN("postgres"), "select 1"))
	require.NoError(t, s.Close())
}

func TestTheEnvironmentOfLibpqAndTheLocaleAreIgnored(t *testing.T) {
	p := newPlace(t) // not parallel: it sets the environment
	for k, v := range map[string]string{"PGDATA": "/nowhere", "PGPORT": "1", "PGHOST": "nowhere", "PGOPTIONS": "-c nothing=1",
		"LC_ALL": "xx_XX", "LANG": "xx_XX", "TZ": "Asia/Tokyo"} {
		t.Setenv(k, v)
	}
	s := p.start(t, p.options())
	for _, k := range []string{"PGOPTIONS", "PGHOST"} {
		require.NoError(t, os.Unsetenv(k)) // pgx heeds them, rightly
	}
	require.Equal(t, "UTF8 C UTC off", query[string](t, s.DSN("postgres"), `select concat_ws(' ', pg_encoding_to_char(encoding),
		datcollate, current_setting('timezone'), current_setting('jit')) from pg_database where datname = 'postgres'`))
	require.NoError(t, s.Close())
}

func TestAProgramThatForgetsSuperviseIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.launch(t, hostPlan{Options: p.options(), Unsupervised: true})
	require.Contains(t, h.first.Error, "must call embedpg.Supervise first")
	require.NoDirExists(t, p.dir)
}
