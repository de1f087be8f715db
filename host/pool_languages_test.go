package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// TestGuestsOfEachLanguageEndPooledAsFresh runs every job of the example actors
// in an instance of its own and then, several times, in one that has been used;
// each restore is compared with the image byte for byte. Those in Go take part
// where `make wasm` has built them.
func TestGuestsOfEachLanguageEndPooledAsFresh(t *testing.T) { // not beside others: compiling takes all there is
	if testing.Short() {
		t.Skip("compiles real guests")
	}
	manifests, err := filepath.Glob("../plugins/*-cases/manifest.json")
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	fresh, pool := newEngine(t, host.Options{}), newEngine(t, host.Options{Pool: pooled})
	for _, path := range manifests {
		dir := filepath.Dir(path)
		wasm, err := os.ReadFile(filepath.Join(dir, "actor.wasm"))
		if err != nil {
			if wasm, err = os.ReadFile(filepath.Join("../bin/plugins", filepath.Base(dir)+".wasm")); err != nil {
				t.Logf("%s isn't built", filepath.Base(dir))
				continue
			}
		}
		var manifest struct {
			Jobs []struct {
				Case    string
				Payload json.RawMessage
			}
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &manifest))
		plain, err := fresh.Load(context.Background(), wasm)
		require.NoError(t, err)
		again, err := pool.Load(context.Background(), wasm)
		require.NoError(t, err)
		require.True(t, again.Report().Poolable, "%s: %v", dir, again.Report().NotPoolable)
		for _, job := range manifest.Jobs {
			a := host.Attempt{Input: job.Payload, Timeout: time.Minute, Meta: abi.Meta{Attempt: 1, MaxAttempts: 3}}
			if job.Case == "endless-loop" || job.Case == "recursion" {
				a.Timeout = 500 * time.Millisecond
			}
			want := plain.Run(context.Background(), a)
			for range 2 {
				got := again.Run(context.Background(), a)
				require.Equal(t, want.Kind, got.Kind, "%s %s", dir, job.Case)
				require.Equal(t, class(want), class(got), "%s %s", dir, job.Case)
			}
		}
	}
	stats := pool.PoolStats()
	require.Zero(t, stats.Mismatches)
	require.Positive(t, stats.Hits)
	t.Logf("%+v", stats)
}
