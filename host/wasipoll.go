package host

import (
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"
)

const (
	subscriptionSize = 48
	eventSize        = 32
	// maxSubscriptions of one poll: more descriptors and timers than a guest
	// with three descriptors has a use for.
	maxSubscriptions = 1024

	eventClock   = 0
	eventFDRead  = 1
	eventFDWrite = 2

	clockAbsolute = 1
)

// subscription is what one entry of poll_oneoff waits for.
type subscription struct {
	userdata uint64
	kind     byte
	errno    uint64
	ready    bool
	wait     uint64 // nanoseconds, of a clock
	bytes    uint64 // to be read
}

// pollOneoff waits for the first of its subscriptions, or for the end of the
// attempt. Counts are checked before they are multiplied.
func pollOneoff(x *execution, mem api.Memory, stack []uint64) {
	count := uint32(stack[2])
	if count == 0 || count > maxSubscriptions {
		stack[0] = errnoInval
		return
	}
	in := x.read(mem, stack[0], uint64(count)*subscriptionSize)
	x.read(mem, stack[1], uint64(count)*eventSize)
	x.read(mem, stack[3], 4)

	subscriptions := make([]subscription, count)
	ready := false
	shortest := uint64(math.MaxUint64)
	for i := range subscriptions {
		s := x.subscribe(in[i*subscriptionSize:])
		ready = ready || s.ready
		if s.kind == eventClock && s.errno == errnoSuccess {
			shortest = min(shortest, s.wait)
		}
		subscriptions[i] = s
	}
	waited := uint64(0)
	if !ready {
		x.sleep(shortest)
		waited = shortest
	}

	out := x.read(mem, stack[1], uint64(count)*eventSize)
	events := 0
	for _, s := range subscriptions {
		if !s.ready && s.wait > waited {
			continue
		}
		p := out[events*eventSize:][:eventSize]
		clear(p)
		le.PutUint64(p, s.userdata)
		le.PutUint16(p[8:], uint16(s.errno))
		p[10] = s.kind
		le.PutUint64(p[16:], s.bytes)
		events++
	}
	x.put32(mem, stack[3], uint32(events))
	stack[0] = errnoSuccess
}

func (x *execution) subscribe(p []byte) subscription {
	s := subscription{userdata: le.Uint64(p), kind: p[8]}
	switch s.kind {
	case eventClock:
		id, timeout, flags := le.Uint32(p[16:]), le.Uint64(p[24:]), le.Uint16(p[40:])
		now, ok := x.clockTime(id)
		if !ok {
			s.errno, s.ready = errnoNotSup, true
			break
		}
		s.wait = timeout
		if flags&clockAbsolute != 0 {
			s.wait = 0
			if timeout > uint64(now) {
				s.wait = timeout - uint64(now)
			}
		}
		s.ready = s.wait == 0
	case eventFDRead, eventFDWrite:
		fd := le.Uint32(p[16:])
		s.ready = true
		reads := s.kind == eventFDRead
		if fd > stderrFD || reads != (fd == stdinFD) {
			s.errno = errnoBadF
		} else if reads {
			s.bytes = uint64(len(x.stdin))
		}
	default:
		s.errno, s.ready = errnoInval, true
	}
	return s
}

// sleep waits for d nanoseconds or unwinds when the attempt ends first.
func (x *execution) sleep(ns uint64) {
	d := time.Duration(min(ns, math.MaxInt64))
	if x.clock.virtual {
		x.clock.elapsed += min(d, math.MaxInt64/2-x.clock.elapsed)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.done:
		x.unwind(unwind{kind: unwindEnded})
	}
}
