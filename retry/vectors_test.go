package retry_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
)

// readVectors decodes a file of golden cases, which must have some.
func readVectors[T any](t *testing.T, name string) []T {
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

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func TestVectorsBackoff(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[struct {
		Name       string
		Backoff    retry.Backoff
		BaseMS     int64 `json:"base_ms"`
		CapMS      int64 `json:"cap_ms"`
		MaxMS      int64 `json:"max_retry_backoff_ms"`
		Multiplier float64
		DelaysMS   map[string]int64 `json:"delays_ms"`
	}](t, "backoff.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p := retry.Default()
			p.Backoff, p.Base, p.Cap, p.Multiplier, p.Jitter = c.Backoff, ms(c.BaseMS), ms(c.CapMS), c.Multiplier, 0
			require.NoError(t, p.Validate(""))
			for attempt, want := range c.DelaysMS {
				n, err := strconv.Atoi(attempt)
				require.NoError(t, err)
				require.Equal(t, ms(want), p.NextDelay(n, ms(c.MaxMS)), "after attempt %d", n)
				band := p.Band(n, ms(c.MaxMS))
				require.Equal(t, retry.Band{Low: ms(want), High: ms(want)}, band, "without jitter the band is the delay")
				canonical := p.Canonical()
				require.Equal(t, ms(want), canonical.NextDelay(n, ms(c.MaxMS)), "the canonical form has the same curve")
			}
		})
	}
}

func TestVectorsJitterBand(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[struct {
		RawMS  int64 `json:"raw_ms"`
		CapMS  int64 `json:"effective_cap_ms"`
		Jitter float64
		LowMS  int64 `json:"low_ms"`
		HighMS int64 `json:"high_ms"`
	}](t, "jitter_band.json") {
		t.Run(fmt.Sprintf("%d under %d by %v", c.RawMS, c.CapMS, c.Jitter), func(t *testing.T) {
			t.Parallel()
			band := retry.BandOf(ms(c.RawMS), ms(c.CapMS), c.Jitter)
			require.Equal(t, retry.Band{Low: ms(c.LowMS), High: ms(c.HighMS)}, band)
			require.Equal(t, band.Low, band.Draw(0))
			require.LessOrEqual(t, band.Draw(math.MaxUint64), band.High)
		})
	}
}

func TestVectorsReclaimJitter(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[struct {
		JobID   string `json:"job_id"`
		Attempt int
		LowMS   int64  `json:"low_ms"`
		HighMS  int64  `json:"high_ms"`
		HashHex string `json:"hash_hex"`
		DelayMS int64  `json:"delay_ms"`
	}](t, "reclaim_jitter.json") {
		t.Run(fmt.Sprintf("%s attempt %d", c.JobID, c.Attempt), func(t *testing.T) {
			t.Parallel()
			id, err := hex.DecodeString(strings.ReplaceAll(c.JobID, "-", ""))
			require.NoError(t, err)
			band := retry.Band{Low: ms(c.LowMS), High: ms(c.HighMS)}
			require.Equal(t, ms(c.DelayMS), retry.ReclaimDelay(band, [16]byte(id), c.Attempt))
			hash, err := strconv.ParseUint(c.HashHex, 16, 64)
			require.NoError(t, err)
			require.Equal(t, ms(c.DelayMS), band.Draw(hash), "the hash is the draw")
		})
	}
}
