package host

import (
	"encoding/binary"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

var le = binary.LittleEndian

const (
	stdinFD  = 0
	stdoutFD = 1
	stderrFD = 2

	// maxVectors is POSIX's IOV_MAX: a longer list could name the same memory
	// again and again, which the host would walk without end.
	maxVectors = 1024
	// maxTransfer is how much one read or write moves at most. What is longer
	// is a partial one, which every caller of write has to expect.
	maxTransfer = 1 << 20
	// pieceSize is how much is moved between two looks at the attempt's end: a
	// piece may be 32,000 lines.
	pieceSize = 64 << 10
)

// putStrings writes the guest's arguments or environment as preview 1 lays them
// out: pointers at one place, NUL-terminated bytes at the other.
func (x *execution) putStrings(mem api.Memory, pointers, bytes uint64, list []string) uint64 {
	table := x.read(mem, pointers, 4*uint64(len(list)))
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	text := x.read(mem, bytes, uint64(size))
	at := 0
	for i, s := range list {
		le.PutUint32(table[4*i:], uint32(bytes)+uint32(at))
		at += copy(text[at:], s)
		text[at] = 0
		at++
	}
	return errnoSuccess
}

func (x *execution) putSizes(mem api.Memory, count, size uint64, list []string) uint64 {
	total := 0
	for _, s := range list {
		total += len(s) + 1
	}
	x.put32(mem, count, uint32(len(list)))
	x.put32(mem, size, uint32(total))
	return errnoSuccess
}

func (x *execution) put32(mem api.Memory, ptr uint64, v uint32) {
	le.PutUint32(x.read(mem, ptr, 4), v)
}

func (x *execution) put64(mem api.Memory, ptr, v uint64) {
	le.PutUint64(x.read(mem, ptr, 8), v)
}

func argsGet(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.putStrings(mem, stack[0], stack[1], x.args())
}

func argsSizesGet(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.putSizes(mem, stack[0], stack[1], x.args())
}

func environGet(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.putStrings(mem, stack[0], stack[1], x.environ())
}

func environSizesGet(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.putSizes(mem, stack[0], stack[1], x.environ())
}

// Clocks of preview 1; the two of processor time are not offered.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

func clockResGet(x *execution, mem api.Memory, stack []uint64) {
	if id := uint32(stack[0]); id != clockRealtime && id != clockMonotonic {
		stack[0] = errnoInval
		return
	}
	x.put64(mem, stack[1], 1000)
	stack[0] = errnoSuccess
}

func clockTimeGet(x *execution, mem api.Memory, stack []uint64) {
	now, ok := x.clockTime(uint32(stack[0]))
	if !ok {
		stack[0] = errnoInval
		return
	}
	x.put64(mem, stack[2], uint64(now))
	stack[0] = errnoSuccess
}

// clockTime reads a clock of the guest's, in nanoseconds.
func (x *execution) clockTime(id uint32) (int64, bool) {
	switch id {
	case clockRealtime:
		return x.clock.wall().UnixNano(), true
	case clockMonotonic:
		return x.clock.monotonic(), true
	}
	return 0, false
}

func randomGet(x *execution, mem api.Memory, stack []uint64) {
	x.fillRandom(x.read(mem, stack[0], stack[1]))
	stack[0] = errnoSuccess
}

// fdClose says yes to closing stdio and keeps it open: a runtime that closes
// its stderr on the way out would take the reason of its death with it.
func fdClose(_ *execution, _ api.Memory, stack []uint64) {
	stack[0] = errnoOf(uint32(stack[0]))
}

func errnoOf(fd uint32) uint64 {
	if fd > stderrFD {
		return errnoBadF
	}
	return errnoSuccess
}

// Rights of a descriptor that matter to anybody: read, set flags, write, poll.
const (
	rightRead  = 1 << 1
	rightWrite = 1 << 6
	rightPoll  = 1 << 27
)

// fdFdstatGet describes a pipe: of unknown type, appended to, no seeking.
func fdFdstatGet(x *execution, mem api.Memory, stack []uint64) {
	fd := uint32(stack[0])
	if fd > stderrFD {
		stack[0] = errnoBadF
		return
	}
	p := x.read(mem, stack[1], 24)
	clear(p)
	rights := uint64(rightPoll | rightWrite)
	if fd == stdinFD {
		rights = rightPoll | rightRead
	}
	le.PutUint64(p[8:], rights)
	le.PutUint64(p[16:], rights)
	stack[0] = errnoSuccess
}

func fdFdstatSetFlags(_ *execution, _ api.Memory, stack []uint64) {
	stack[0] = errnoOf(uint32(stack[0]))
}

func fdFilestatGet(x *execution, mem api.Memory, stack []uint64) {
	if uint32(stack[0]) > stderrFD {
		stack[0] = errnoBadF
		return
	}
	clear(x.read(mem, stack[1], 64))
	stack[0] = errnoSuccess
}

func noSeek(_ *execution, _ api.Memory, stack []uint64) {
	if stack[0] = errnoOf(uint32(stack[0])); stack[0] == errnoSuccess {
		stack[0] = errnoSPipe
	}
}

// vectors calls with for the pieces of an iovec list until it has moved
// maxTransfer bytes or with wants no more; it gives what was moved.
func (x *execution) vectors(mem api.Memory, list, count uint64, with func(p []byte) int) (moved int, errno uint64) {
	n := uint32(count)
	if n > maxVectors {
		return 0, errnoInval
	}
	iovs := x.read(mem, list, uint64(n)*8)
	for i := range int(n) {
		p := x.read(mem, uint64(le.Uint32(iovs[8*i:])), uint64(le.Uint32(iovs[8*i+4:])))
		p = p[:min(len(p), maxTransfer-moved)]
		for len(p) > 0 {
			x.stopIfOver()
			piece := p[:min(len(p), pieceSize)]
			did := with(piece)
			moved += did
			if did < len(piece) {
				return moved, errnoSuccess
			}
			p = p[did:]
		}
		if moved == maxTransfer {
			break
		}
	}
	return moved, errnoSuccess
}

// fdRead reads the payload in command mode; a reactor's stdin is at its end.
func fdRead(x *execution, mem api.Memory, stack []uint64) {
	if uint32(stack[0]) != stdinFD {
		stack[0] = errnoBadF
		return
	}
	n, errno := x.vectors(mem, stack[1], stack[2], func(p []byte) int {
		n := copy(p, x.stdin)
		x.stdin = x.stdin[n:]
		return n
	})
	if errno == errnoSuccess {
		x.put32(mem, stack[3], uint32(n))
	}
	stack[0] = errno
}

func fdWrite(x *execution, mem api.Memory, stack []uint64) {
	var write func(p []byte)
	switch uint32(stack[0]) {
	case stdoutFD:
		write = x.writeStdout
	case stderrFD:
		write = x.stderr.write
	default:
		stack[0] = errnoBadF
		return
	}
	n, errno := x.vectors(mem, stack[1], stack[2], func(p []byte) int {
		write(p)
		return len(p)
	})
	if errno == errnoSuccess {
		x.put32(mem, stack[3], uint32(n))
	}
	stack[0] = errno
}

func schedYield(_ *execution, _ api.Memory, stack []uint64) {
	runtime.Gosched()
	stack[0] = errnoSuccess
}

// procExit ends the guest without closing the instance. The code is only ever
// the guest's: a kill of our own shows in the ending.
func procExit(x *execution, _ api.Memory, stack []uint64) {
	x.unwind(unwind{kind: unwindExit, code: uint32(stack[0])})
}

// cString drops NULs, which would end the guest's view of the string.
func cString(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "")
}
