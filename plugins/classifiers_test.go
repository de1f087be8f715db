package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
)

func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", name))
	require.NoError(t, err)
	var file struct {
		Cases []T `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

func loadClassifier(t *testing.T, wasm []byte, err error) *host.Module {
	t.Helper()
	require.NoError(t, err)
	m, err := newEngine(t).Load(context.Background(), wasm)
	require.NoError(t, err)
	require.NoError(t, classifier.Check(m.Report()))
	return m
}

func ask(t *testing.T, m *host.Module, settings string, q classify.Question) *classify.Override {
	t.Helper()
	c := classifier.New("x", classifier.Found(m), json.RawMessage(settings))
	c.Timeout = time.Minute // the machine may be busy
	q.Attempt, q.Policy, q.Settings = 1, retry.Default(), retry.DefaultSettings()
	o, err := c.Classify(t.Context(), q)
	require.NoError(t, err)
	return o
}

// TestTheClassifierInGoPassesTheVectorsOfTheBuiltInOne builds it, so that it
// needs no make.
func TestTheClassifierInGoPassesTheVectorsOfTheBuiltInOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rate-limit.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", file, ".")
	build.Dir = "go-rate-limit"
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	wasm, err := os.ReadFile(file)
	m := loadClassifier(t, wasm, err)
	for _, c := range vectors[struct {
		Headers map[string]string `json:"headers"`
		Now     time.Time         `json:"now"`
		Expect  struct {
			Claim   bool   `json:"claim"`
			DelayMS *int64 `json:"delay_ms"`
		} `json:"expect"`
		Note   string `json:"note"`
		Status int    `json:"failure_http_status"`
	}](t, "retry_after.json") {
		t.Run(fmt.Sprintf("%v %s", c.Headers, c.Note), func(t *testing.T) {
			f := &abi.Failure{Class: "HttpError", HTTP: &abi.HTTP{Status: c.Status, Headers: c.Headers}}
			o := ask(t, m, `{"claim_kind":"transient"}`, classify.Question{Failure: f, OccurredAt: c.Now})
			require.Equal(t, c.Expect.Claim, o != nil)
			if o == nil {
				return
			}
			require.Equal(t, retry.Transient, o.Kind)
			if c.Expect.DelayMS == nil {
				require.Nil(t, o.Delay)
				return
			}
			require.NotNil(t, o.Delay)
			require.Equal(t, *c.Expect.DelayMS, o.Delay.Milliseconds())
		})
	}
	require.Equal(t, retry.Indefinite, ask(t, m, "", classify.Question{Failure: &abi.Failure{Class: "*openai.RateLimitError[int]"}}).Kind)
	require.Nil(t, ask(t, m, `{"claim_kind":"none"}`, classify.Question{Failure: &abi.Failure{Class: "RateLimitError"}}))
	denied := &abi.Failure{Class: "LimitDenied", Details: []byte(`{"source":"rate_limit","retry_after_ms":2500}`)}
	require.Equal(t, 2500*time.Millisecond, *ask(t, m, "", classify.Question{Failure: denied}).Delay)
}

func TestTheClassifierInCPassesTheVectorsOfTheBuiltInOne(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile(filepath.Join("c-taxonomy", "actor.wasm"))
	m := loadClassifier(t, wasm, err)
	for _, c := range vectors[struct {
		Failure abi.Failure     `json:"failure"`
		Config  json.RawMessage `json:"config"`
		Expect  *retry.Kind     `json:"expect"`
		Note    string          `json:"note"`
	}](t, "taxonomy.json") {
		t.Run(fmt.Sprintf("%s %v %s", c.Failure.Class, c.Failure.HTTP, c.Config), func(t *testing.T) {
			o := ask(t, m, string(c.Config), classify.Question{Failure: &c.Failure})
			if c.Expect == nil {
				require.Nil(t, o)
				return
			}
			require.NotNil(t, o)
			require.Equal(t, *c.Expect, o.Kind)
		})
	}
	o := ask(t, m, `{"transient_status":["300-302"]}`, classify.Question{Failure: &abi.Failure{Class: "x", HTTP: &abi.HTTP{Status: 301}}})
	require.Equal(t, retry.Transient, o.Kind)
}
