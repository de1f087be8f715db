package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/client"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/server"
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
	*client.Client
	ctx    context.Context
	url    string
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

// setup is a client of a real API.
func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, store.Options{URL: pgtest.New(t, "client", migrate)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	engine, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	modules, err := catalog.New(s, engine, nil)
	require.NoError(t, err)
	live, err := config.Open(config.Sources{}, nil)
	require.NoError(t, err)
	api, err := server.New(server.Options{Store: s, Catalog: modules, Config: live})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	front := httptest.NewServer(api)
	t.Cleanup(front.Close)
	b := &bundle{ctx: ctx, url: front.URL, store: s}
	b.tenant, err = s.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	token, err := s.IssueToken(ctx, b.tenant, "test", "admin")
	require.NoError(t, err)
	b.Client = open(t, front.URL, token)
	return b
}

func open(t *testing.T, url, token string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: url, Token: token})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func ptr[T any](v T) *T { return &v }

func TestJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, err := b.Enqueue(b.ctx, client.NewJob{
		Actor: "a", Queue: "q", Payload: map[string]int{"n": 1}, Priority: ptr(0), Delay: time.Hour, Deadline: time.Now().Add(2 * time.Hour), StartToClose: 90 * time.Second,
		Retry: &client.Retry{Kind: "transient", MaxAttempts: 5, Base: time.Second, Cap: time.Minute, Multiplier: 3, Jitter: ptr(0.0)}, Version: 2,
		Headers: map[string]string{"h": "v"}, Tags: []string{"t"}, Metadata: map[string]any{"m": true}, ResultTTL: 48 * time.Hour,
	})
	require.NoError(t, err)
	require.Equal(t, "scheduled", e.Status)
	j, err := b.Get(b.ctx, e.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"n": 1}`, string(j.Payload))
	require.JSONEq(t, `{"kind": "transient", "max_attempts": 5, "base": "1s", "cap": "1m", "multiplier": 3, "jitter": 0}`, string(j.Retry))
	require.Equal(t, []any{"a", "q", 0, "1m30s", "2d"}, []any{j.Actor, j.Queue, j.Priority, j.StartToClose, j.ResultTTL})
	require.False(t, j.Ended())

	raw, err := b.Enqueue(b.ctx, client.NewJob{Actor: "a", PayloadBytes: []byte{0, 1, 0xff}, ScheduledAt: time.Now().Add(time.Hour), ScheduleToClose: 2 * time.Hour})
	require.NoError(t, err)
	j, err = b.Get(b.ctx, raw.ID)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 0xff}, j.PayloadBase64)

	result, err := b.Cancel(b.ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, "cancelled", result)
	j, err = b.Wait(b.ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, "cancelled", j.Status)
	attempts, err := b.Attempts(b.ctx, e.ID)
	require.NoError(t, err)
	require.Empty(t, attempts)
	events, err := b.Events(b.ctx, e.ID)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "job.cancelled", events[0].Event)

	waiting, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	_, err = b.Wait(waiting, raw.ID)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestListWalksOverPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	jobs := make([]client.NewJob, 25)
	for i := range jobs {
		jobs[i] = client.NewJob{Actor: "a", Payload: i, Tags: []string{fmt.Sprint(i % 2)}}
	}
	jobs[3].Actor = "BAD"
	r, err := b.EnqueueMany(b.ctx, jobs, client.EnqueueManyOptions{})
	require.NoError(t, err)
	require.Equal(t, []int{24, 1}, []int{r.Accepted, r.Refused})
	require.Equal(t, "body.jobs[3].actor", r.Results[3].Error.Errors[0].Location)
	_, err = b.EnqueueMany(b.ctx, jobs, client.EnqueueManyOptions{Atomic: true})
	var p *client.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, 422, p.Status)

	count := func(o client.ListOptions, stopAfter int) (n int) {
		for _, err := range b.List(b.ctx, o) {
			require.NoError(t, err)
			if n++; n == stopAfter {
				break
			}
		}
		return n
	}
	require.Equal(t, 24, count(client.ListOptions{Limit: 7}, 0))
	require.Equal(t, 11, count(client.ListOptions{Limit: 7, Tag: "1", Status: []string{"pending", "failed"}}, 0))
	require.Equal(t, 8, count(client.ListOptions{Limit: 7}, 8))
	for _, err := range b.List(b.ctx, client.ListOptions{Limit: 5000}) {
		require.ErrorContains(t, err, "query.limit")
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", "noop.wasm"))
	require.NoError(t, err)
	dry, err := b.Push(b.ctx, "a", wasm, client.PushOptions{DryRun: true})
	require.NoError(t, err)
	require.True(t, dry.DryRun)
	p, err := b.Push(b.ctx, "a", wasm, client.PushOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, p.Version)
	a, err := b.Actor(b.ctx, "a")
	require.NoError(t, err)
	require.Equal(t, p.Digest, a.Digest)
	list, err := b.Actors(b.ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, b.DeleteActor(b.ctx, "a"))
	require.True(t, client.NotFound(b.DeleteActor(b.ctx, "a")))

	_, err = b.Push(b.ctx, "a", []byte("not wasm"), client.PushOptions{})
	var refused *client.Problem
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 422, refused.Status)
	require.NotEmpty(t, refused.Errors[0].Message)
	require.ErrorContains(t, err, refused.Errors[0].Message)

	queues, err := b.Queues(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, queues)
	workers, err := b.Workers(b.ctx)
	require.NoError(t, err)
	require.Empty(t, workers)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Get(b.ctx, "01890a5d-ac96-774b-bcce-b302099a8057")
	require.True(t, client.NotFound(err))
	_, err = b.Get(b.ctx, "../actors")
	require.Error(t, err, "an id isn't a path")

	var p *client.Problem
	_, err = open(t, b.url, "tq_wrong").Actors(b.ctx)
	require.ErrorAs(t, err, &p)
	require.Equal(t, http.StatusUnauthorized, p.Status)

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err = open(t, gone.URL, "x").Actors(b.ctx)
	require.ErrorIs(t, err, client.ErrUnreachable)

	_, err = b.Enqueue(b.ctx, client.NewJob{Actor: "a", Payload: 1, PayloadBytes: []byte("x")})
	require.ErrorContains(t, err, "exclude")
	_, err = b.Enqueue(b.ctx, client.NewJob{Actor: "a", ScheduleToClose: 1, Deadline: time.Now()})
	require.ErrorContains(t, err, "exclude")
	_, err = b.Enqueue(b.ctx, client.NewJob{Actor: "a", Payload: make(chan int)})
	require.ErrorContains(t, err, "payload")

	for _, url := range []string{"", "127.0.0.1:8420", "ftp://x", "http://", "http://u:p@x", "http://x?a=b"} {
		_, err := client.New(client.Options{URL: url})
		require.Error(t, err, url)
	}
	_, err = client.New(client.Options{URL: "http://x", Token: "a b"})
	require.Error(t, err)
}

func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	asked := 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case strings.HasSuffix(r.URL.Path, "/proxy"):
			http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
		case strings.HasSuffix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, "http://127.0.0.1:1/steal", http.StatusFound)
		case asked == 1:
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status": 503, "title": "Service Unavailable"}`))
		default:
			_, _ = w.Write([]byte(`{"id": "x", "status": "succeeded", "new_field": 1}`))
		}
	}))
	t.Cleanup(front.Close)
	c := open(t, front.URL, "secret")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	j, err := c.Wait(ctx, "x")
	require.NoError(t, err, "a wait outlasts a busy host, and takes fields that it doesn't know")
	require.True(t, j.Ended())
	var p *client.Problem
	_, err = c.Get(ctx, "proxy")
	require.ErrorAs(t, err, &p)
	require.Equal(t, 502, p.Status)
	require.NotContains(t, err.Error(), "html")
	_, err = c.Get(ctx, "elsewhere")
	require.True(t, errors.As(err, &p) && p.Status == 302, "a redirect isn't followed")
}

// The client has types of its own, so that it needs nothing of the host's;
// they must name the same fields.
func TestTypesAreTheServers(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{
		{client.Job{}, server.Job{}}, {client.Attempt{}, server.Attempt{}}, {client.Event{}, server.Event{}}, {client.Actor{}, server.Actor{}},
		{client.Import{}, server.ActorImport{}}, {client.Worker{}, server.Worker{}}, {client.Enqueued{}, server.EnqueuedJob{}}, {client.BatchItem{}, server.BatchItem{}},
		{client.FieldError{}, server.FieldError{}}, {client.JobPage{}, server.JobList{}},
	} {
		require.ElementsMatch(t, fields(pair[1]), fields(pair[0]), "%T", pair[0])
	}
	body, err := json.Marshal(server.RetryRequest{Kind: "x", MaxAttempts: 1, TimeBudget: "x", Backoff: "x", Base: "x", Multiplier: 1, Cap: "x", Jitter: 1})
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(body, &m))
	require.Len(t, m, reflect.TypeFor[client.Retry]().NumField())
}

func fields(v any) (out []string) {
	t := reflect.TypeOf(v)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
