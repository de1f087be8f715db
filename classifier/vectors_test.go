package classifier_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
)

type decideCase struct {
	Name   string `json:"name"`
	Policy struct {
		Kind        retry.Kind `json:"kind"`
		MaxAttempts int        `json:"max_attempts"`
	} `json:"policy"`
	Attempt        int         `json:"attempt"`
	Failure        abi.Failure `json:"failure"`
	Classification struct {
		Permanent []string `json:"permanent"`
		Retryable []string `json:"retryable"`
	} `json:"classification"`
	RetryOn      []string `json:"retry_on"`
	NonRetryable []string `json:"non_retryable_errors"`
	Chain        []struct {
		Name    string          `json:"name"`
		Answer  json.RawMessage `json:"answer"`
		Trap    bool            `json:"trap"`
		Timeout bool            `json:"timeout"`
	} `json:"chain"`
	Mapper json.RawMessage `json:"mapper"`
	Expect struct {
		Action     classify.Action  `json:"action"`
		DecidedBy  string           `json:"decided_by"`
		Kind       retry.Kind       `json:"kind"`
		DelayMS    int64            `json:"delay_ms"`
		DeadReason retry.DeadReason `json:"dead_reason"`
	} `json:"expect"`
}

func (c *decideCase) ladder(m *host.Module) classify.Ladder {
	l := classify.Ladder{
		Settings: retry.DefaultSettings(),
		Rules: classify.Rules{
			RetryOn: c.RetryOn, NonRetryable: c.NonRetryable,
			Permanent: c.Classification.Permanent, Retryable: c.Classification.Retryable,
		},
	}
	for _, link := range c.Chain {
		settings := string(link.Answer)
		switch {
		case link.Trap:
			settings = `{"trap":1}`
		case link.Timeout:
			settings = `{"loop":1}`
		case settings == "null":
			settings = ""
		}
		asked := answers(m, link.Name, settings)
		if link.Timeout {
			asked.Timeout = 0
		}
		l.Chain = append(l.Chain, asked)
	}
	if c.Mapper != nil {
		l.Mapper = answers(m, "mapper", string(c.Mapper))
	}
	return l
}

func TestTheLaddersVectorsHoldThroughModules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", "decide.json"))
	require.NoError(t, err)
	var file struct {
		Cases []decideCase `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Cases)
	m := load(t, "classify")
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			l := c.ladder(m)
			p := retry.Default()
			p.Jitter, p.Kind, p.MaxAttempts = 0, c.Policy.Kind, c.Policy.MaxAttempts
			d := l.Decide(t.Context(), classify.Input{Ending: classify.Failed, Failure: &c.Failure, Policy: p, Attempt: c.Attempt, OccurredAt: noon})
			require.Equal(t, c.Expect.Action, d.Action)
			require.Equal(t, c.Expect.DecidedBy, d.DecidedBy)
			require.Equal(t, c.Expect.DeadReason, d.DeadReason)
			require.Equal(t, c.Expect.DelayMS, d.DelayMS())
			if c.Expect.Kind != "" {
				require.Equal(t, c.Expect.Kind, d.Kind)
			}
		})
	}
}
