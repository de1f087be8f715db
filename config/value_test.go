package config

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDurationsAreGosPlusDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "30d": 30 * Day, "1d12h": 36 * time.Hour,
		"1.5d": 36 * time.Hour, "0s": 0, "-5s": -5 * time.Second, "0d": 0, "106750d": 106750 * Day,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "d", "1d2d", "-1d", "1d-1h", "1d+1h", "1h1d", "106752d", "1e3d", "٣d", "1 d", " 1s", "99999999999999999999d", "106750d9999999h"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}

func TestWhatIsShownReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		back, err := ParseDuration(FormatDuration(d))
		require.NoError(t, err)
		require.Equal(t, d, back)
		s := Size(rapid.Int64Range(0, math.MaxInt64).Draw(t, "s"))
		size, err := ParseSize(s.String())
		require.NoError(t, err)
		require.Equal(t, s, size)
		r := Rate{rapid.IntRange(1, math.MaxInt32).Draw(t, "n"), rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, Day}).Draw(t, "per")}
		rate, err := ParseRate(r.String())
		require.NoError(t, err)
		require.Equal(t, r, rate)
	})
	for d, want := range map[time.Duration]string{30 * Day: "30d", 90 * time.Minute: "1h30m", time.Hour: "1h", time.Minute: "1m", 10 * time.Second: "10s", 0: "0s", 36 * time.Hour: "36h"} {
		require.Equal(t, want, FormatDuration(d))
	}
}

func TestRatesAndSizesRefuseWhatTheyCantMean(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "1.5GiB", "1MB", "-1B", "+1B", "B", "1kib", "9223372036854775808B", "8589934592GiB"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"", "1", "/s", "0/s", "-1/s", "1/", "1/w", "1.5/s", "9999999999/s"} {
		_, err := ParseRate(text)
		require.Error(t, err, text)
	}
}

func TestPasswordsAreNeverShown(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:hunter2@h:5432/d", "postgresql://u:hun@ter2@h/d", "postgres://u:hunter2/x@h/d", "postgres://h/d?password=hunter2&sslmode=disable",
		"host=h password=hunter2 dbname=d", "host=h PASSWORD = 'hun ter2 \\' hunter2' dbname=d", "postgres://u:hunter2@h1:5432,h2:5432/d", "host=h password='hunter2",
	} {
		shown := redact(dsn)
		for _, part := range []string{"hunter2", "hun", "ter2"} {
			require.NotContains(t, shown, part, dsn)
		}
		require.Contains(t, shown, "xxxxx")
		require.Contains(t, shown, "h", "the rest stays")

		l, problems := envLayer([]string{"TASKQ_DATABASE__URL=" + dsn, "TASKQ_DATABASE__LISTEN_URL=" + dsn})
		require.Empty(t, problems)
		c, err := assemble([]*layer{l}, nil)
		require.NoError(t, err)
		require.Equal(t, dsn, c.Database.URL)
		for _, row := range c.Effective() {
			require.NotContains(t, fmt.Sprint(row.Value), "hunter2")
		}
	}
	require.Equal(t, "postgres://u@h/d", redact("postgres://u@h/d"))
	require.Equal(t, "postgres://h/d", redact("postgres://h/d"))
}
