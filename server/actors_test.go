package server_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
)

func TestPush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noop := fixture(t, "noop.wasm")

	dry := into[server.PushedActor](b.push("hello", noop, "?dry_run=true"), 200)
	require.True(t, dry.DryRun)
	require.Zero(t, dry.Version)
	b.get("/v1/actors/hello").problem(404)

	first := into[server.PushedActor](b.push("hello", noop, ""), 201)
	require.Equal(t, 1, first.Version)
	require.False(t, first.Unchanged)
	require.Equal(t, "reactor", first.Mode)
	require.Contains(t, first.Entries, "run")
	require.Len(t, first.Digest, 64)
	require.Equal(t, len(noop), first.Size)

	again := into[server.PushedActor](b.push("hello", noop, ""), 200)
	require.True(t, again.Unchanged)
	require.Equal(t, 1, again.Version)
	require.True(t, into[server.PushedActor](b.push("hello", noop, "?dry_run=true"), 200).Unchanged)

	second := into[server.PushedActor](b.push("hello", fixture(t, "echo.wasm"), ""), 201)
	require.Equal(t, 2, second.Version)
	shown := into[server.Actor](b.get("/v1/actors/hello"), 200)
	require.Equal(t, second.Digest, shown.Digest)
	require.NotEmpty(t, shown.Imports)

	described := into[server.PushedActor](b.push("described", fixture(t, "describe.wasm"), ""), 201)
	require.Contains(t, string(described.Manifest), `"charge"`)
	require.Contains(t, strings.Join(described.Warnings, "\n"), `calls itself "charge"`)

	var list []string
	for _, a := range into[struct{ Actors []server.Actor }](b.get("/v1/actors"), 200).Actors {
		list = append(list, a.Name)
	}
	require.Equal(t, []string{"described", "hello"}, list)

	require.Equal(t, 204, b.do(call{method: "DELETE", path: "/v1/actors/hello"}).status)
	b.do(call{method: "DELETE", path: "/v1/actors/hello"}).problem(404)
	require.Equal(t, 1, into[server.PushedActor](b.push("hello", noop, ""), 201).Version)
}

// importsTeleport is a module that imports a function which nobody offers.
const importsTeleport = "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x02\x15\x01\x08taskq_v1\x08teleport\x00\x00"

func TestBadPushes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noop := fixture(t, "noop.wasm")
	component := append([]byte("\x00asm"), 0x0d, 0, 1, 0)
	for _, c := range []struct {
		name string
		wasm []byte
		rule string
		says string
	}{
		{"not Wasm", []byte("#!/bin/sh\necho hi\n"), "", ""},
		{"truncated", noop[:len(noop)/2], "", ""},
		{"something behind it", append(bytes.Clone(noop), "tail"...), "", ""},
		{"a component", component, "", "component"},
		{"no entry", fixture(t, "bombs/accepted-unbounded-growth.wasm"), "abi.missing_entry", "taskq_v1_run"},
		{"an import that isn't there", []byte(importsTeleport), "abi.unknown_import", "teleport"},
		{"an export of the contract's that isn't", fixture(t, "bombs/reserved-export.wasm"), "", ""},
		{"a classifier", fixture(t, "pure.wasm"), "catalog.no_run_entry", "classify"},
		{"memory above what there is", fixture(t, "bombs/memory-too-big.wasm"), "", ""},
		{"a table of a hundred million", fixture(t, "bombs/table-100m.wasm"), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := b.in(t).push("bad", c.wasm, "").breaks(422, "body")
			require.NotEmpty(t, p.Errors[0].Message)
			require.Contains(t, p.Errors[0].Message, c.says)
			if c.rule != "" {
				require.Equal(t, c.rule, p.Errors[0].Rule)
			}
		})
	}
	t.Run("a name with capitals", func(t *testing.T) { b.in(t).push("Bad", noop, "").breaks(422, "path.name") })
	t.Run("a name with a slash", func(t *testing.T) { b.in(t).push("a%2Fb", noop, "").breaks(422, "path.name") })
	t.Run("an unknown parameter", func(t *testing.T) { b.in(t).push("bad", noop, "?dryrun=1").breaks(422, "query.dryrun") })
	t.Run("dry_run that is neither", func(t *testing.T) { b.in(t).push("bad", noop, "?dry_run=maybe").breaks(422, "query.dry_run") })
	t.Run("an empty one", func(t *testing.T) {
		b.in(t).do(call{method: "PUT", path: "/v1/actors/bad", headers: map[string]string{"Content-Type": "application/wasm"}}).breaks(422, "body")
	})
	t.Run("17 MiB", func(t *testing.T) { b.in(t).push("bad", make([]byte, 17<<20), "").breaks(413, "body") })
	t.Run("as JSON", func(t *testing.T) {
		b.in(t).do(call{method: "PUT", path: "/v1/actors/bad", body: string(noop)}).breaks(415, "header.Content-Type")
	})
	require.Empty(t, into[struct{ Actors []server.Actor }](b.get("/v1/actors"), 200).Actors, "nothing of it was stored")
	var modules int
	require.NoError(t, b.store.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.modules").Scan(&modules))
	require.Zero(t, modules)
}

func TestEveryBombIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range bombs(t) {
		a := b.push("bomb", fixture(t, "bombs/"+name), "?dry_run=true")
		require.Equal(t, 422, a.status, "%s: %s", name, a.body) // those that the scan lets pass have no entry
		require.NotEmpty(t, a.problem(422).Errors[0].Message)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	b := setup(t)
	packed := func(raw []byte) string {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		_, err := w.Write(raw)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return buf.String()
	}
	push := func(t *testing.T, body string) answer {
		return b.in(t).do(call{method: "PUT", path: "/v1/actors/packed", body: body, headers: map[string]string{"Content-Type": "application/wasm", "Content-Encoding": "gzip"}})
	}
	whole := packed(fixture(t, "noop.wasm"))
	require.Equal(t, 201, push(t, whole).status)
	push(t, "not gzip").problem(400)
	push(t, whole[:len(whole)-10]).problem(400)
	push(t, packed(make([]byte, 64<<20))).breaks(413, "body")
	a := b.do(call{method: "POST", path: "/v1/jobs", body: packed([]byte(`{"actor": "a"}`)), headers: map[string]string{"Content-Encoding": "gzip"}})
	require.Equal(t, 201, a.status)
}
