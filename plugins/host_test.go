package plugins_test

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
	"github.com/taskq-host/taskq-host/plugins"
)

// TestEveryJobEndsAsItsManifestSays runs the attempts of each job in the real
// sandbox. What comes between them is simpler than the worker's: no time
// passes.
func TestEveryJobEndsAsItsManifestSays(t *testing.T) {
	t.Parallel()
	all, err := plugins.Load(os.DirFS(filepath.Join("..", "bin", "plugins")))
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("run `make wasm` first: ", err)
	}
	require.NoError(t, err)
	engine := newEngine(t)
	for _, p := range all {
		t.Run(p.Actor, func(t *testing.T) {
			t.Parallel()
			if raceDetector && p.Language == "Go" {
				t.Skip("the engine takes a minute to compile a Go guest under the race detector")
			}
			module, err := engine.Load(context.Background(), p.Module)
			require.NoError(t, err)
			require.Equal(t, p.Mode, module.Report().Mode)
			for _, j := range p.Jobs {
				t.Run(j.Case, func(t *testing.T) {
					t.Parallel()
					require.Empty(t, j.Expect.Differences(runJob(t, module, &j)))
				})
			}
		})
	}
}

func newEngine(t *testing.T) *host.Engine {
	t.Helper()
	engine, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	return engine
}

// mostRuns is more often than any job here runs.
const mostRuns = 10

func runJob(t *testing.T, module *host.Module, j *plugins.Job) plugins.Ending {
	t.Helper()
	meta := abi.Meta{JobID: "00000000-0000-7000-8000-000000000001", Tenant: "default", Queue: "default", Actor: "demo", Attempt: 1, MaxAttempts: maxAttempts(t, j)}
	for range mostRuns {
		out := module.Run(context.Background(), host.Attempt{Input: j.Payload, Meta: meta, Timeout: timeout(t, j)})
		switch out.Kind {
		case host.Succeeded:
			return plugins.Ending{Status: "succeeded", Attempt: meta.Attempt}
		case host.Snoozed:
			meta.SnoozeCount++
		case host.RetryAfter:
			require.Less(t, meta.Attempt, meta.MaxAttempts)
			meta.Attempt++
		case host.Failed:
			f := out.Failure
			decidedBy := "policy"
			switch {
			case abi.AlwaysTerminal(f.Class):
				decidedBy = "always_terminal"
			case f.Permanent || f.Retryable:
				decidedBy = "guest"
			}
			if meta.Attempt == meta.MaxAttempts || f.Permanent || abi.AlwaysTerminal(f.Class) {
				return plugins.Ending{
					Status: "failed", Attempt: meta.Attempt, DecidedBy: decidedBy,
					ErrorClass: f.Class, Ancestors: f.Ancestors, Message: f.Message,
				}
			}
			meta.Attempt++
		default:
			t.Fatalf("outcome %d", out.Kind)
		}
	}
	t.Fatal("it never ends")
	return plugins.Ending{}
}

func maxAttempts(t *testing.T, j *plugins.Job) int {
	t.Helper()
	var retry struct {
		MaxAttempts int `json:"max_attempts"`
	}
	require.NoError(t, json.Unmarshal(j.Enqueue.Retry, &retry))
	return retry.MaxAttempts
}

func timeout(t *testing.T, j *plugins.Job) time.Duration {
	t.Helper()
	if j.Enqueue.StartToClose == "" {
		return 30 * time.Second
	}
	d, err := time.ParseDuration(j.Enqueue.StartToClose)
	require.NoError(t, err)
	return d
}
