package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
	"github.com/taskq-host/taskq-host/store"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic dGFza3E=", "no token": "Bearer ", "an unknown one": "Bearer tq_unknown", "not even like one": "Bearer x y",
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			a := b.do(call{method: "GET", path: "/v1/jobs", token: "-", headers: map[string]string{"Authorization": header}})
			a.problem(401)
			require.Equal(t, `Bearer realm="taskq"`, a.header.Get("WWW-Authenticate"))
		})
	}
	t.Run("no path tells more without one", func(t *testing.T) {
		b.in(t).do(call{method: "GET", path: "/v1/nonsense", token: "-"}).problem(401)
		b.in(t).do(call{method: "POST", path: "/v1/jobs", token: "-", body: `{"actor": "a"}`}).problem(401)
	})
	t.Run("the scheme's case doesn't matter", func(t *testing.T) {
		a := b.do(call{method: "GET", path: "/v1/jobs", token: "-", headers: map[string]string{"Authorization": "bearer " + b.token}})
		require.Equal(t, 200, a.status)
	})
	t.Run("free of tokens", func(t *testing.T) {
		for path, contentType := range map[string]string{
			"/": "text/html; charset=utf-8", "/docs": "text/html; charset=utf-8", "/openapi.json": "application/openapi+json", "/healthz": "application/json", "/readyz": "application/json",
		} {
			a := b.do(call{method: "GET", path: path, token: "-"})
			require.Equal(t, 200, a.status, path)
			require.Equal(t, contentType, a.header.Get("Content-Type"), path)
		}
	})
	t.Run("roles", func(t *testing.T) {
		submitter, operator := b.issue(b.tenant, "submitter"), b.issue(b.tenant, "operator")
		unknown := b.issue(b.tenant, "wizard")
		for _, token := range []string{submitter, operator} {
			require.Equal(t, 201, b.do(call{method: "POST", path: "/v1/jobs", body: `{"actor": "a"}`, token: token}).status)
			b.do(call{method: "PUT", path: "/v1/actors/a", body: "x", headers: map[string]string{"Content-Type": "application/wasm"}, token: token}).problem(403)
			b.do(call{method: "DELETE", path: "/v1/actors/a", token: token}).problem(403)
		}
		b.do(call{method: "DELETE", path: "/v1/actors/a", token: unknown}).problem(403)
		b.do(call{method: "DELETE", path: "/v1/actors/a", token: b.issue(b.tenant, "platform")}).problem(404)
	})
}

func TestGate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	asked := 0
	down := false
	good := map[string]bool{"tq_good": true}
	gate, err := server.NewGate(func(_ context.Context, token string) (store.Token, error) {
		asked++
		switch {
		case down:
			return store.Token{}, errors.New("down")
		case !good[token]:
			return store.Token{}, store.ErrNotFound
		}
		return store.Token{Name: token}, nil
	}, func() time.Time { return now })
	require.NoError(t, err)
	try := func(token, from string) (int, *server.Problem) {
		r := httptest.NewRequest(http.MethodGet, "/v1/jobs", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := gate.Admit(r)
		var p *server.Problem
		if errors.As(err, &p) {
			return p.Status, p
		}
		return map[bool]int{true: 200, false: 503}[err == nil], nil
	}
	const here, sameNet, there = "[2001:db8::1]:1000", "[2001:db8::ffff]:2", "[2001:db8:0:1::1]:1000"

	status, _ := try("tq_good", here)
	require.Equal(t, 200, status)
	status, _ = try("tq_good", here)
	require.Equal(t, 200, status)
	require.Equal(t, 1, asked, "a good token isn't asked for again at once")

	for range 20 {
		status, _ = try("tq_bad", here)
		require.Equal(t, 401, status)
	}
	before := asked
	status, p := try("tq_bad", sameNet)
	require.Equal(t, 429, status, "one network of IPv6 is one address")
	require.Equal(t, 3, p.RetryAfter())
	require.Equal(t, before, asked, "and the database hears nothing of it")
	status, _ = try("tq_bad", there)
	require.Equal(t, 401, status, "others aren't limited")
	now = now.Add(4 * time.Second)
	status, _ = try("tq_good", here)
	require.Equal(t, 200, status, "a token that was good before isn't locked out by its neighbours")
	status, _ = try("tq_bad", here)
	require.Equal(t, 401, status, "time heals")

	now = now.Add(time.Minute)
	delete(good, "tq_good")
	status, _ = try("tq_good", here)
	require.Equal(t, 401, status, "a revoked token is found out")
	down = true
	status, _ = try("tq_other", there)
	require.Equal(t, 503, status, "trouble of the database counts as nobody's failure")
}
