package retry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
)

func TestAPlanListsTheBudgetsDelays(t *testing.T) {
	t.Parallel()
	plan, err := retry.NewPlan(retry.Default(), 24*time.Hour, 0, 12*time.Hour)
	require.NoError(t, err)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"policy": {"kind":"transient","max_attempts":3,"backoff":"exponential","base":"5s","multiplier":2,"cap":"1h0m0s","jitter":0.2},
		"delays": [
			{"attempt":1,"delay_ms":5000,"low_ms":4000,"high_ms":6000,"total_ms":5000},
			{"attempt":2,"delay_ms":10000,"low_ms":8000,"high_ms":12000,"total_ms":15000},
			{"attempt":3,"delay_ms":20000,"low_ms":16000,"high_ms":24000,"total_ms":35000}],
		"max_attempts_for": 22}`, string(text))
}

func TestHowManyAttemptsCoverAWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cover time.Duration
		want  int
	}{
		{"three attempts wait 15s", 15 * time.Second, 3},
		{"a moment more takes a fourth", 15*time.Second + 1, 4},
		{"five wait 75s", 75 * time.Second, 5},
		{"twelve wait 8715s", 8715 * time.Second, 12},
		{"twenty-five wait 55515s", 55515 * time.Second, 25},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := retry.NewPlan(retry.Default(), 24*time.Hour, 0, c.cover)
			require.NoError(t, err)
			require.NotNil(t, plan.MaxAttemptsFor)
			require.Equal(t, c.want, *plan.MaxAttemptsFor)
		})
	}
	plan, err := retry.NewPlan(retry.Default(), 24*time.Hour, 0, 0)
	require.NoError(t, err)
	require.Nil(t, plan.MaxAttemptsFor, "nobody asked")
	plan, err = retry.NewPlan(retry.Default(), time.Second, 0, 1<<62)
	require.NoError(t, err)
	require.Nil(t, plan.MaxAttemptsFor, "no legal number does")
}

func TestAPlansLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind     retry.Kind
		attempts int
		want     int
	}{
		{retry.Transient, 0, 3}, {retry.Indefinite, 0, 10}, {retry.NonRetryable, 0, 1},
		{retry.NonRetryable, 7, 7}, {retry.Transient, 1, 1}, {retry.Transient, retry.MostAttempts, retry.MostAttempts},
	} {
		p := retry.Default()
		p.Kind = c.kind
		plan, err := retry.NewPlan(p, 24*time.Hour, c.attempts, 0)
		require.NoError(t, err)
		require.Len(t, plan.Delays, c.want)
	}
}

func TestAPlanRefusesWhatAPolicyRefuses(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	p.Cap = time.Second
	_, err := retry.NewPlan(p, 24*time.Hour, 0, 0)
	require.EqualError(t, err, "cap: must be >= base (5s)")
	_, err = retry.NewPlan(retry.Default(), 24*time.Hour, retry.MostAttempts+1, 0)
	require.EqualError(t, err, "attempts: must be 1..32766")
	_, err = retry.NewPlan(retry.Default(), 0, 0, 0)
	require.EqualError(t, err, "max_retry_backoff: must be > 0")
	_, err = retry.NewPlan(retry.Default(), 24*time.Hour, 0, -1)
	require.EqualError(t, err, "cover: must be > 0")
}
