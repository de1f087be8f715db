package rewrite_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// bulkModule exports fill, copy and init of a memory of 2 MiB with a passive
// segment of 600 KiB, each taking its three operands.
func bulkModule() []byte {
	section := func(id byte, content string) string { return string([]byte{id}) + u32(len(content)) + content }
	body := func(op string) string {
		code := "\x00\x20\x00\x20\x01\x20\x02" + op + "\x0b"
		return u32(len(code)) + code
	}
	segment := make([]byte, 600<<10)
	for i := range segment {
		segment[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return []byte(header +
		section(1, "\x01\x60\x03\x7f\x7f\x7f\x00") +
		section(3, "\x03\x00\x00\x00") +
		section(5, "\x01\x00\x20") +
		section(7, "\x04\x06memory\x02\x00\x04fill\x00\x00\x04copy\x00\x01\x04init\x00\x02") +
		section(12, "\x01") +
		section(10, "\x03"+body("\xfc\x0b\x00")+body("\xfc\x0a\x00\x00")+body("\xfc\x08\x00\x00")) +
		section(11, "\x01\x01"+u32(len(segment))+string(segment)))
}

// TestBulkInstructionsInPiecesDoTheSame goes around the size of a piece, with
// ranges that overlap either way and that end behind the memory.
func TestBulkInstructionsInPiecesDoTheSame(t *testing.T) {
	t.Parallel()
	wasm := bulkModule()
	out, m := metered(t, wasm, scan.Limits{}, withStack(options))
	ticks := &meter{slice: 1 << 16}
	plain, pieces := newTrial(t, wasm, m, nil), newTrial(t, out.Code, m, ticks)
	const piece, end = 256 << 10, 2 << 20
	lengths := []uint64{0, 1, piece - 1, piece, piece + 1, 2 * piece, 2*piece + 7, end - 5, end, end + 1, 1<<32 - 1}
	places := []uint64{0, 1, 100, piece, end - 2*piece - 7, end - 1, end, end + 1, 1<<32 - 1}
	for _, op := range []string{"init", "copy", "fill"} {
		for _, n := range lengths {
			for _, to := range places {
				for _, from := range places {
					args := []uint64{to, from, n}
					want, _ := plain.call(t, op, args)
					got, _ := pieces.call(t, op, args)
					require.Equal(t, want, got, "%s %v", op, args)
					require.True(t, bytes.Equal(plain.memory(), pieces.memory()), "%s %v", op, args)
				}
			}
		}
	}
	require.Greater(t, ticks.ticks, 100)
}

func TestBulkInstructionsAreChargedByLength(t *testing.T) {
	t.Parallel()
	out, m := metered(t, bulkModule(), scan.Limits{}, withStack(options))
	ticks := &meter{slice: 1 << 16}
	x := newTrial(t, out.Code, m, ticks)
	cost := func(op string, n uint64) int64 {
		before := ticks.used(x.instance)
		got, err := x.call(t, op, []uint64{0, 0, n})
		require.NoError(t, err, got)
		return ticks.used(x.instance) - before
	}
	for _, op := range []string{"fill", "copy", "init"} {
		few, many := cost(op, 8), cost(op, 600<<10)
		require.Less(t, few, int64(32), op)
		require.InDelta(t, 600<<10/8, many-few, 32, op)
	}
}

// TestALongFillIsStoppedBetweenItsPieces runs out in the middle: what was
// written by then is all that was.
func TestALongFillIsStoppedBetweenItsPieces(t *testing.T) {
	t.Parallel()
	out, m := metered(t, bulkModule(), scan.Limits{}, withStack(options))
	x := newTrial(t, out.Code, m, &meter{slice: 1 << 12, limit: 3 << 15})
	_, err := x.call(t, "fill", []uint64{0, 7, 2 << 20})
	require.ErrorIs(t, err, errSpent)
	filled := bytes.Count(x.memory(), []byte{7})
	require.Equal(t, 2*256<<10, filled, "the third piece was charged, and not done")
}

func withStack(o rewrite.Options) rewrite.Options {
	o.Stack = 1 << 20
	return o
}

func TestAGaugeKeepsFuelAndRoomApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gauge    rewrite.Gauge
		fuel     int64
		overflow bool
	}{
		{0, 0, false},
		{5<<20 | 7, 5, false},
		{5<<20 - 7, 5, true},
		{-5<<20 + 7, -5, false},
		{-5<<20 - 7, -5, true},
		{1<<19 - 1, 0, false},
	} {
		t.Run(fmt.Sprintf("%#x", int64(c.gauge)), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.fuel, c.gauge.Fuel())
			require.Equal(t, c.overflow, c.gauge.Overflowed())
			require.Equal(t, c.fuel+99, c.gauge.Refuelled(99).Fuel())
			require.Equal(t, c.overflow, c.gauge.Refuelled(99).Overflowed())
		})
	}
}
