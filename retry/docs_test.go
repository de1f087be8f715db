package retry_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
)

func TestTheCoverageThatTheDocumentationPromises(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "retries.md"))
	require.NoError(t, err)
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	rows := regexp.MustCompile(`(?m)^\| (\d+) (minute|hour|day)s? \| (\d+) \|$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 7)
	for _, row := range rows {
		n, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		plan, err := retry.NewPlan(retry.Default(), retry.DefaultSettings().MaxRetryBackoff, 1, time.Duration(n)*units[row[2]])
		require.NoError(t, err)
		require.Equal(t, row[3], strconv.Itoa(*plan.MaxAttemptsFor), row[0])
	}
}
