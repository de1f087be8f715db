package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/host/scan"
)

func TestAModuleThatBreaksTheContractIsRefusedWithASentenceThatHelps(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	for _, c := range []struct {
		fixture, rule string
		says          []string
	}{
		{"unknown-import", host.RuleUnknownImport, []string{"taskq_v1.output_writ is unknown", "output_write", "snooze"}},
		{"unknown-module", host.RuleUnknownImport, []string{`no module "wbg"`, "wasi_snapshot_preview1"}},
		{"not-offered", host.RuleUnknownImport, []string{"taskq_v1.http", "doesn't offer it yet"}},
		{"import-type", host.RuleImportType, []string{"taskq_v1.fail", "(i32) -> i32", "(i32, i32) -> i32"}},
		{"wasi-type", host.RuleImportType, []string{"proc_exit", "(i32) -> i32", "(i32) -> ()"}},
		{"import-memory", host.RuleImportKind, []string{"env.memory is a memory", "define its own"}},
		{"import-global", host.RuleImportKind, []string{"env.__stack_pointer is a global"}},
		{"no-memory", host.RuleMissingMemory, []string{`"memory"`}},
		{"hidden-memory", host.RuleMissingMemory, []string{`"memory"`}},
		{"no-entry", host.RuleMissingEntry, []string{"taskq_v1_run", "_start"}},
		{"only-describe", host.RuleMissingEntry, []string{"taskq_v1_run"}},
		{"entry-type", host.RuleEntryType, []string{"taskq_v1_run", "(i32) -> i32", "() -> i32"}},
		{"entry-global", host.RuleEntryType, []string{"taskq_v1_run is a global"}},
		{"start-type", host.RuleEntryType, []string{"_start", "() -> ()"}},
		{"initialize-type", host.RuleEntryType, []string{"_initialize"}},
		{"reserved-export", scan.RuleReserved, []string{"taskq_v1_runn"}},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			t.Parallel()
			wasm := fixture(t, "refused/"+c.fixture)
			_, err := e.Inspect(wasm)
			refusal := requireRefusal(t, err)
			require.Equal(t, c.rule, refusal.Rule)
			for _, text := range c.says {
				require.Contains(t, refusal.Message, text)
			}
			_, err = e.Load(context.Background(), wasm)
			require.Equal(t, refusal, requireRefusal(t, err), "loading refuses what inspecting does")
		})
	}
}

func requireRefusal(t *testing.T, err error) *host.Refusal {
	t.Helper()
	var refusal *host.Refusal
	require.True(t, errors.As(err, &refusal), "%T %v", err, err)
	return refusal
}

func TestWhatTheScanRefusesTheHostRefusesByTheSameRule(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	_, err := e.Inspect([]byte("#!/bin/sh"))
	require.Equal(t, scan.RuleNotWasm, requireRefusal(t, err).Rule)
	_, err = e.Inspect([]byte("\x00asm\x0d\x00\x01\x00"))
	require.Equal(t, scan.RuleComponent, requireRefusal(t, err).Rule)
	_, err = e.Load(context.Background(), []byte("\x00asm\x01\x00\x00\x00\x09\x05\xff\xff\xff\xff\x0f"))
	require.Equal(t, scan.RuleCount, requireRefusal(t, err).Rule)
}

func TestTheReportSaysWhatAModuleIs(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	wasm := fixture(t, "returns")
	r, err := e.Inspect(wasm)
	require.NoError(t, err)
	sum := sha256.Sum256(wasm)
	require.Equal(t, &host.Report{
		Digest: hex.EncodeToString(sum[:]), Size: len(wasm), Mode: abi.Reactor, Entries: []string{"run", "classify", "hook", "cron"},
		Imports: []host.Import{
			{Module: "taskq_v1", Name: "input_read", Type: "(i32, i32) -> i32"},
			{Module: "taskq_v1", Name: "output_write", Type: "(i32, i32) -> i32"},
		},
		Capabilities: []string{}, MemoryMin: 64 << 10, Functions: 1, Poolable: true,
	}, r)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"capabilities":[]`, "a list is never null")

	r, err = e.Inspect(fixture(t, "exit"))
	require.NoError(t, err)
	require.Equal(t, abi.Command, r.Mode)
	require.Equal(t, []string{"run"}, r.Entries)
	r, err = e.Inspect(fixture(t, "memory-own-limit"))
	require.NoError(t, err)
	require.EqualValues(t, 256<<10, r.MemoryMax)
	r, err = e.Inspect(fixture(t, "bombs/accepted-unrestorable"))
	if err == nil {
		require.False(t, r.Poolable)
		require.NotEmpty(t, r.NotPoolable)
	}
}

func TestOptionsAreCheckedByName(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]host.Options{
		"Memory":  {Limits: host.Limits{Memory: -1}},
		"Modules": {Modules: -1},
		"Timeout": {Compile: host.CompileOptions{Timeout: -1}},
	} {
		_, err := host.New(o)
		require.ErrorContains(t, err, want)
	}
}
