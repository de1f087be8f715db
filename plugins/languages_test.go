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
)

// death is a row of testdata/wasm/lang/expect.json.
type death struct {
	File      string   `json:"file"`
	Language  string   `json:"language"`
	Mode      abi.Mode `json:"mode"`
	Input     string   `json:"input"`
	Class     string   `json:"class"` // empty: it succeeds
	Ancestors []string `json:"ancestors"`
	Message   string   `json:"message"` // a part of it
	Origin    string   `json:"origin"`
	ExitCode  *int     `json:"exit_code"`
	Permanent bool     `json:"permanent"`
	Retryable bool     `json:"retryable"`
}

// TestDeathsOfEachLanguageAreNamed holds the host to what programs without an
// SDK do when they die, as compilers made them.
func TestDeathsOfEachLanguageAreNamed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/wasm/lang/expect.json")
	require.NoError(t, err)
	var deaths []death
	require.NoError(t, json.Unmarshal(text, &deaths))
	require.NotEmpty(t, deaths)
	engine := newEngine(t)
	for _, d := range deaths {
		t.Run(d.Language+" "+d.Input, func(t *testing.T) {
			t.Parallel()
			wasm, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(d.File)))
			require.NoError(t, err)
			module, err := engine.Load(context.Background(), wasm)
			require.NoError(t, err)
			require.Equal(t, d.Mode, module.Report().Mode)
			out := module.Run(context.Background(), host.Attempt{Input: []byte(d.Input), Timeout: 30 * time.Second})
			if d.Class == "" {
				require.Equal(t, host.Succeeded, out.Kind)
				return
			}
			require.Equal(t, host.Failed, out.Kind)
			f := out.Failure
			require.Equal(t, d.Class, f.Class, f.Message)
			require.Equal(t, d.Ancestors, f.Ancestors)
			require.Contains(t, f.Message, d.Message)
			require.Equal(t, d.Origin, string(f.Origin))
			require.Equal(t, d.ExitCode, f.ExitCode)
			require.Equal(t, d.Permanent, f.Permanent)
			require.Equal(t, d.Retryable, f.Retryable)
		})
	}
}
