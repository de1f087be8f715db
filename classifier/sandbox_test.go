package classifier_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(t testing.TB) *host.Engine {
	t.Helper()
	e, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	return e
}

func load(t testing.TB, name string) *host.Module {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	require.NoError(t, err)
	m, err := newEngine(t).Load(context.Background(), wasm)
	require.NoError(t, err)
	return m
}

// patient is long, so that a busy machine changes no answer.
const patient = 20 * time.Second

// answers is the fixture that answers its settings.
func answers(m *host.Module, name, settings string) *classifier.Classifier {
	c := classifier.New(name, classifier.Found(m), json.RawMessage(settings))
	c.Timeout = patient
	return c
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func question() classify.Question {
	return classify.Question{
		Failure: &abi.Failure{Class: "acme.Oops", Message: "no"}, Attempt: 1,
		Policy: retry.Default(), Settings: retry.DefaultSettings(), OccurredAt: noon,
	}
}

func TestAnAnswerIsWhatTheModulePushed(t *testing.T) {
	t.Parallel()
	m := load(t, "classify")
	o, err := answers(m, "x", `{"kind":"transient","delay_ms":7000}`).Classify(t.Context(), question())
	require.NoError(t, err)
	require.Equal(t, retry.Transient, o.Kind)
	require.Equal(t, 7*time.Second, *o.Delay)
	o, err = answers(m, "x", "").Classify(t.Context(), question())
	require.NoError(t, err)
	require.Nil(t, o, "no opinion")
	v, err := answers(m, "x", `{"succeed":{"a":1}}`).Map(t.Context(), classify.Question{Attempt: 1, Policy: retry.Default(), Result: []byte(`2`)})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(v.Succeed))
}

func TestWhateverGoesWrongIsAnErrorOfItsKind(t *testing.T) {
	t.Parallel()
	m := load(t, "classify")
	for settings, want := range map[string]error{
		`{"nonsense":1}`:      classify.ErrNonsense,
		`{"kind":"whatever"}`: classify.ErrNonsense,
		`{"delay_ms":-1}`:     classify.ErrNonsense,
		`{"trap":1}`:          nil,
		`{"z":1}`:             nil,
		`{"memory":1}`:        nil,
	} {
		o, err := answers(m, "x", settings).Classify(t.Context(), question())
		require.Error(t, err, settings)
		require.Nil(t, o)
		if want != nil {
			require.ErrorIs(t, err, want, settings)
		}
	}
	missing := classifier.New("x", func(context.Context) (*host.Module, error) { return nil, classify.ErrMissing }, nil)
	_, err := missing.Classify(t.Context(), question())
	require.ErrorIs(t, err, classify.ErrMissing)
}

func TestOneThatLoopsForEverCostsItsLimit(t *testing.T) {
	t.Parallel()
	m := load(t, "classify")
	c := classifier.New("x", classifier.Found(m), json.RawMessage(`{"loop":1}`))
	began := time.Now()
	_, err := c.Classify(t.Context(), question())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), time.Second, "5 ms, on whatever machine")
}

func TestAnAnswerIsRememberedByModuleAndInput(t *testing.T) {
	t.Parallel()
	m := load(t, "classify")
	cache := classifier.NewCache()
	ask := func(find classifier.Find, settings string, q classify.Question) (*classify.Override, error) {
		c := classifier.New("x", find, json.RawMessage(settings))
		c.Cache, c.Timeout = cache, patient
		return c.Classify(t.Context(), q)
	}
	const said = `{"kind":"indefinite"}`
	first, err := ask(classifier.Found(m), said, question())
	require.NoError(t, err)
	_, err = ask(classifier.Found(m), `{"trap":1}`, question())
	require.Error(t, err)

	// The same module in an engine that is closed can only answer from memory.
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", "classify.wasm"))
	require.NoError(t, err)
	e, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	closed, err := e.Load(t.Context(), wasm)
	require.NoError(t, err)
	require.NoError(t, e.Close(t.Context()))

	again, err := ask(classifier.Found(closed), said, question())
	require.NoError(t, err)
	require.Equal(t, first, again)
	later := question()
	later.OccurredAt = noon.Add(time.Millisecond)
	_, err = ask(classifier.Found(closed), said, later)
	require.Error(t, err, "another input is another question")
	_, err = ask(classifier.Found(closed), `{"trap":1}`, question())
	require.ErrorContains(t, err, "HostFault", "what went wrong isn't remembered")
}

func TestAClassifierHasNoCapabilities(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{"classify": "", "echo": classifier.RuleNoEntry, "pure": classifier.RuleImport} {
		err := classifier.Check(load(t, name).Report())
		if rule == "" {
			require.NoError(t, err)
			continue
		}
		refusal := new(host.Refusal)
		require.True(t, errors.As(err, &refusal), name)
		require.Equal(t, rule, refusal.Rule)
	}
}
