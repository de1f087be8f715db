package scan_test

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// FuzzScan holds a scan to its promises for any bytes: it doesn't panic, it
// allocates little, its error is a refusal, and what it accepts can be
// rewritten and walked.
func FuzzScan(f *testing.F) {
	for _, b := range append(storedBombs(f), madeBombs()...) {
		if len(b.wasm) < 4<<10 {
			f.Add([]byte(b.wasm))
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		least := uint64(math.MaxUint64)
		var m *scan.Module
		var err error
		for range 2 { // the fuzzer itself may allocate meanwhile, once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err = scan.Scan(wasm, scan.Limits{})
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		require.LessOrEqual(t, least, allocationBound(len(wasm)))
		if err != nil {
			var refusal *scan.Refusal
			require.True(t, errors.As(err, &refusal))
			require.NotEmpty(t, refusal.Rule)
			require.LessOrEqual(t, refusal.Offset, len(wasm))
			return
		}
		_, err = rewrite.Interruptible(wasm, m, rewrite.Options{MemoryMaxPages: 1_024, TableMax: 100_000})
		require.NoError(t, err)
		walked := 0
		for _, b := range m.Bodies {
			for range b.Instructions(wasm) {
				walked++
			}
		}
		require.Equal(t, m.Facts.Instructions, walked)
	})
}
