package classify_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

// readVectors decodes a file of golden cases; a field that the test doesn't
// know is an error, so none is left unchecked.
func readVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", name))
	require.NoError(t, err)
	var file struct {
		About string `json:"about"`
		Cases []T    `json:"cases"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func ptr[T any](v T) *T { return &v }

// classifier answers what it is told to.
type classifier struct {
	name   string
	answer func(classify.Question) (*classify.Override, error)
}

func (c classifier) Name() string { return c.name }

func (c classifier) Classify(_ context.Context, q classify.Question) (*classify.Override, error) {
	return c.answer(q)
}

func answers(name string, o *classify.Override) classifier {
	return classifier{name, func(classify.Question) (*classify.Override, error) { return o, nil }}
}

func breaks(name string, err error) classifier {
	return classifier{name, func(classify.Question) (*classify.Override, error) { return nil, err }}
}

func panics(name string) classifier {
	return classifier{name, func(classify.Question) (*classify.Override, error) { panic("out of bounds") }}
}

// mapper answers what it is told to.
type mapper func(classify.Question) (*classify.Verdict, error)

func (mapper) Name() string { return "mapped" }

func (m mapper) Map(_ context.Context, q classify.Question) (*classify.Verdict, error) { return m(q) }

func maps(v *classify.Verdict) mapper {
	return func(classify.Question) (*classify.Verdict, error) { return v, nil }
}

func builtin(t testing.TB, name, config string) classify.Classifier {
	t.Helper()
	c, err := classify.Builtin(name, json.RawMessage(config))
	require.NoError(t, err)
	require.Equal(t, name, c.Name())
	return c
}

// plain is the default policy without jitter.
func plain() retry.Policy {
	p := retry.Default()
	p.Jitter = 0
	return p
}

func ladder() *classify.Ladder { return &classify.Ladder{Settings: retry.DefaultSettings()} }

func failed(class string, attempt int) classify.Input {
	return classify.Input{
		Ending: classify.Failed, Failure: &abi.Failure{Class: class}, Policy: plain(), Attempt: attempt, OccurredAt: noon, Random: math.MaxUint64,
	}
}
