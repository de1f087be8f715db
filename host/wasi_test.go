package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"github.com/taskq-host/taskq-host/abi"
)

var fixedNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// guest is an execution whose imports are called by hand.
type guest struct {
	*execution
	mem *wazerotest.Memory
}

func newGuest(t *testing.T, mode abi.Mode, a Attempt) *guest {
	t.Helper()
	engine := &Engine{
		clock: func() time.Time { return fixedNow }, epoch: fixedNow.Add(-time.Second),
		random: strings.NewReader(strings.Repeat("r", 1<<20)), limits: DefaultLimits(),
	}
	x := (&Module{engine: engine, report: Report{Mode: mode}}).newExecution(&a)
	x.stage = stageOf(a.Kind)
	return &guest{execution: x, mem: wazerotest.NewMemory(4 * wazerotest.PageSize)}
}

// ask calls an import and gives what it answered.
func (g *guest) ask(name string, args ...uint64) uint64 {
	h := offered[abi.WASIModule][name]
	stack := append(args, 0)
	g.enter(name)
	h.run(g.execution, g.mem, stack)
	return stack[0]
}

// unwound gives what f unwound for.
func unwound(t *testing.T, f func()) (u unwind) {
	t.Helper()
	defer func() {
		err, _ := recover().(error)
		var p *unwind
		require.True(t, errors.As(err, &p), "%v", err)
		u = *p
	}()
	f()
	return u
}

func (g *guest) u32(at uint32) uint32 { v, _ := g.mem.ReadUint32Le(at); return v }
func (g *guest) u64(at uint32) uint64 { v, _ := g.mem.ReadUint64Le(at); return v }

func TestClocks(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{})
	require.EqualValues(t, errnoSuccess, g.ask("clock_time_get", clockRealtime, 0, 8))
	require.EqualValues(t, fixedNow.UnixNano(), g.u64(8))
	require.EqualValues(t, errnoSuccess, g.ask("clock_time_get", clockMonotonic, 0, 8))
	require.EqualValues(t, time.Second+1, g.u64(8))
	require.EqualValues(t, errnoInval, g.ask("clock_time_get", 2, 0, 8))
	require.EqualValues(t, errnoInval, g.ask("clock_res_get", 9, 8))
	require.EqualValues(t, errnoSuccess, g.ask("clock_res_get", clockMonotonic, 8))
	require.EqualValues(t, 1000, g.u64(8))
}

func TestDescriptorsAreStdioAndNothingElse(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Command, Attempt{Input: []byte("in")})
	for fd := uint64(0); fd < 3; fd++ {
		require.EqualValues(t, errnoSuccess, g.ask("fd_fdstat_get", fd, 64))
		require.EqualValues(t, errnoSuccess, g.ask("fd_filestat_get", fd, 128))
		require.EqualValues(t, errnoSuccess, g.ask("fd_fdstat_set_flags", fd, 0))
		require.EqualValues(t, errnoSPipe, g.ask("fd_seek", fd, 0, 0, 8))
		require.EqualValues(t, errnoSuccess, g.ask("fd_close", fd))
	}
	for _, fd := range []uint64{3, 1 << 31, 0xffffffff} {
		for _, name := range []string{"fd_fdstat_get", "fd_filestat_get", "fd_prestat_get"} {
			require.EqualValues(t, errnoBadF, g.ask(name, fd, 64), name)
		}
		require.EqualValues(t, errnoBadF, g.ask("fd_close", fd))
		require.EqualValues(t, errnoBadF, g.ask("fd_write", fd, 0, 0, 0))
	}
	require.EqualValues(t, errnoBadF, g.ask("fd_write", stdinFD, 0, 0, 0))
	require.EqualValues(t, errnoBadF, g.ask("fd_read", stdoutFD, 0, 0, 0))
	require.EqualValues(t, errnoBadF, g.ask("path_open", 3, 0, 0, 0, 0, 0, 0, 0, 0))
	require.EqualValues(t, errnoBadF, g.ask("sock_accept", 3, 0, 0))
	require.EqualValues(t, errnoNoSys, g.ask("proc_raise", 9))
}

// vectorsAt lays out an iovec list at address 0.
func (g *guest) vectorsAt(pieces ...[2]uint32) {
	for i, p := range pieces {
		g.mem.WriteUint32Le(uint32(8*i), p[0])
		g.mem.WriteUint32Le(uint32(8*i+4), p[1])
	}
}

func TestReadsAndWritesMoveTheirVectorsInOrder(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Command, Attempt{Input: []byte("abcdefgh")})
	g.vectorsAt([2]uint32{1000, 3}, [2]uint32{2000, 0}, [2]uint32{3000, 4})
	require.EqualValues(t, errnoSuccess, g.ask("fd_read", stdinFD, 0, 3, 512))
	require.EqualValues(t, 7, g.u32(512))
	first, _ := g.mem.Read(1000, 3)
	second, _ := g.mem.Read(3000, 4)
	require.Equal(t, "abcdefg", string(first)+string(second))
	require.EqualValues(t, errnoSuccess, g.ask("fd_write", stdoutFD, 0, 3, 512))
	require.EqualValues(t, 7, g.u32(512))
	require.Equal(t, "abcdefg", string(g.collected))
	require.EqualValues(t, errnoSuccess, g.ask("fd_read", stdinFD, 0, 3, 512))
	require.EqualValues(t, 1, g.u32(512))
	require.EqualValues(t, errnoSuccess, g.ask("fd_read", stdinFD, 0, 3, 512))
	require.Zero(t, g.u32(512), "the end of the payload")
}

func TestAReactorsStdinIsAtItsEnd(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{Input: []byte("secret")})
	g.vectorsAt([2]uint32{1000, 3})
	require.EqualValues(t, errnoSuccess, g.ask("fd_read", stdinFD, 0, 1, 512))
	require.Zero(t, g.u32(512))
}

func TestAHugeWriteIsAPartialOne(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{})
	g.mem = wazerotest.NewMemory(2 << 20)
	pieces := make([][2]uint32, maxVectors)
	for i := range pieces {
		pieces[i] = [2]uint32{0, 2 << 20} // the whole memory, again and again
	}
	g.vectorsAt(pieces...)
	require.EqualValues(t, errnoSuccess, g.ask("fd_write", stderrFD, 0, maxVectors, 512))
	require.EqualValues(t, maxTransfer, g.u32(512))
	require.EqualValues(t, errnoInval, g.ask("fd_write", stderrFD, 0, maxVectors+1, 512))
	u := unwound(t, func() { g.ask("fd_write", stderrFD, 0, 1, 2<<20-3) })
	require.Equal(t, unwindViolation, u.kind)
}

// subscribeAt lays out a subscription at 4096 + 48 i.
func (g *guest) subscribeAt(i int, kind byte, userdata uint64, rest func(at uint32)) {
	at := uint32(4096 + subscriptionSize*i)
	g.mem.WriteUint64Le(at, userdata)
	g.mem.WriteByte(at+8, kind)
	rest(at + 16)
}

func (g *guest) clockSubscription(i int, id uint32, timeout uint64, flags uint16) {
	g.subscribeAt(i, eventClock, uint64(100+i), func(at uint32) {
		g.mem.WriteUint32Le(at, id)
		g.mem.WriteUint64Le(at+8, timeout)
		g.mem.WriteUint16Le(at+24, flags)
	})
}

func TestPollGivesTheEventsThatAreDue(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Command, Attempt{Input: []byte("abc")})
	g.clockSubscription(0, clockMonotonic, uint64(time.Millisecond), 0)
	g.clockSubscription(1, clockMonotonic, uint64(time.Hour), 0)
	require.EqualValues(t, errnoSuccess, g.ask("poll_oneoff", 4096, 8192, 2, 512))
	require.EqualValues(t, 1, g.u32(512), "the hour hasn't passed")
	require.EqualValues(t, 100, g.u64(8192))

	g.subscribeAt(2, eventFDRead, 102, func(at uint32) { g.mem.WriteUint32Le(at, stdinFD) })
	g.subscribeAt(3, eventFDWrite, 103, func(at uint32) { g.mem.WriteUint32Le(at, 7) })
	g.clockSubscription(4, clockRealtime, uint64(fixedNow.UnixNano())-5, clockAbsolute)
	g.clockSubscription(5, 77, 1, 0)
	require.EqualValues(t, errnoSuccess, g.ask("poll_oneoff", 4096, 8192, 6, 512))
	type event struct{ userdata, errno, bytes uint64 }
	var events []event
	for i := range g.u32(512) {
		at := 8192 + eventSize*i
		errno, _ := g.mem.ReadUint16Le(at + 8)
		events = append(events, event{g.u64(at), uint64(errno), g.u64(at + 16)})
	}
	require.Equal(t, []event{{102, errnoSuccess, 3}, {103, errnoBadF, 0}, {104, errnoSuccess, 0}, {105, errnoNotSup, 0}}, events,
		"what is ready is told at once, and no clock waits")
}

func TestPollOverlappingItsOwnListIsNoHarm(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Command, Attempt{})
	g.clockSubscription(0, clockMonotonic, 0, 0)
	g.clockSubscription(1, clockMonotonic, 0, 0)
	require.EqualValues(t, errnoSuccess, g.ask("poll_oneoff", 4096, 4096, 2, 4096))
	require.EqualValues(t, 2, g.u32(4096))
}

func TestASleepEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{})
	g.clockSubscription(0, clockMonotonic, 1<<63, 0)
	time.AfterFunc(5*time.Millisecond, func() { g.end(stopped, ErrCancelled) })
	require.Equal(t, unwindEnded, unwound(t, func() { g.ask("poll_oneoff", 4096, 8192, 1, 512) }).kind)
	require.Equal(t, unwindEnded, unwound(t, func() { g.ask("sched_yield") }).kind, "no import works after the end")
}

func TestAClassifiersSleepMovesItsClockAndNothingElse(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{Kind: abi.KindClassify})
	for range 3 { // longer than any clock holds, together
		g.clockSubscription(0, clockMonotonic, 1<<63-1, 0)
		require.EqualValues(t, errnoSuccess, g.ask("poll_oneoff", 4096, 8192, 1, 512))
		require.EqualValues(t, 1, g.u32(512))
	}
	require.Positive(t, g.clock.monotonic())
}

func TestRandomComesFromTheEngine(t *testing.T) {
	t.Parallel()
	g := newGuest(t, abi.Reactor, Attempt{})
	require.EqualValues(t, errnoSuccess, g.ask("random_get", 16, 4))
	p, _ := g.mem.Read(16, 5)
	require.Equal(t, "rrrr\x00", string(p))
}
