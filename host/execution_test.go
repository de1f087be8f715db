package host

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
)

func TestWhoEndsAnExecutionFirstDecides(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	e := ending{done: make(chan struct{})}
	require.Equal(t, finished, e.finish())
	require.False(t, e.end(timedOut, nil), "the entry returned before: its result counts")
	require.Equal(t, finished, e.finish())

	e = ending{done: make(chan struct{})}
	require.True(t, e.end(stopped, cause))
	require.False(t, e.end(timedOut, nil))
	require.Equal(t, stopped, e.finish())
	require.Equal(t, cause, e.cause)

	e = ending{done: make(chan struct{})}
	require.True(t, e.end(timedOut, nil))
	require.Equal(t, timedOut, e.finish(), "the flag was set before the entry returned")
}

func TestLogTokensComeBackWithTheClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	m := newLogMeter(Limits{LogBytes: 1000, LogPerSec: 10}, now)
	admitted := func() (n int) {
		for m.admit(now, 1) {
			n++
		}
		return n
	}
	require.Equal(t, 10, admitted())
	now = now.Add(500 * time.Millisecond)
	require.Equal(t, 5, admitted())
	now = now.Add(time.Hour)
	require.Equal(t, 10, admitted(), "never more than a second's worth")
	now = now.Add(-time.Hour)
	require.Zero(t, admitted(), "a clock that goes back gives nothing")
	require.EqualValues(t, 4, m.dropped)
	require.EqualValues(t, 25, m.bytes)
}

// told keeps progress.
type told []string

func (t *told) Log(abi.LogLine)      {}
func (t *told) Progress(json []byte) { *t = append(*t, string(json)) }

func TestProgressIsCoalescedAndTheLastOneIsTold(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var heard told
	x := &execution{attempt: &Attempt{Sink: &heard}, clock: clock{engine: &Engine{clock: func() time.Time { return now }}}}
	for _, p := range []string{"1", "2", "3"} {
		x.progress([]byte(p))
		now = now.Add(10 * time.Millisecond)
	}
	require.Equal(t, told{"1"}, heard)
	now = now.Add(progressEvery)
	x.tellProgress(false)
	require.Equal(t, told{"1", "3"}, heard)
	x.progress([]byte("4"))
	x.tellProgress(true)
	x.tellProgress(true)
	require.Equal(t, told{"1", "3", "4"}, heard)
}

func TestASlabComesBackZeroAndIsNeverSharedWhileInUse(t *testing.T) {
	t.Parallel()
	p := newMemoryPool(1)
	defer p.close()
	a, err := p.take(1 << 20)
	require.NoError(t, err)
	b, err := p.take(1 << 20)
	require.NoError(t, err)
	require.NotSame(t, a, b)
	buf := a.grow(1 << 20)
	for i := range buf {
		buf[i] = 0xaa
	}
	b.grow(abi.PageSize)[7] = 1
	p.give(a)
	p.give(b) // one too many: freed
	again, err := p.take(1<<20 - 5)
	require.NoError(t, err)
	require.Same(t, a, again, "of the same size class")
	require.Equal(t, make([]byte, 1<<20), again.grow(1<<20))
	require.Nil(t, again.grow(1<<20+1), "no further than its capacity")
	p.give(again)
	other, err := p.take(64 << 10)
	require.NoError(t, err)
	require.NotSame(t, a, other)
	p.give(other)
}

func TestAllOfPreview1IsLinkedOnce(t *testing.T) {
	t.Parallel()
	require.Len(t, offered[abi.WASIModule], 46)
	require.Len(t, offered[abi.Module], 12)
	require.Len(t, offered[abi.AssemblyScriptModule], 3)
	require.Len(t, wasiImports, 46-len(wasiAbsent()), "no name comes twice")
}
