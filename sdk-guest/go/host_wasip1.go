//go:build wasip1

package taskq

import (
	"os"
	"unsafe"
)

//go:wasmimport taskq_v1 input_read
//go:noescape
func inputRead(ptr unsafe.Pointer, capacity uint32) int32

//go:wasmimport taskq_v1 meta_read
//go:noescape
func metaRead(ptr unsafe.Pointer, capacity uint32) int32

//go:wasmimport taskq_v1 output_write
//go:noescape
func outputWrite(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport taskq_v1 fail
//go:noescape
func failImport(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport taskq_v1 snooze
func snoozeImport(ms int64) int32

//go:wasmimport taskq_v1 retry_after
func retryAfterImport(ms int64, consume uint32) int32

//go:wasmimport taskq_v1 log
//go:noescape
func logImport(level int32, ptr unsafe.Pointer, size uint32)

//go:wasmimport taskq_v1 heartbeat
func heartbeatImport() uint32

//go:wasmimport taskq_v1 progress
//go:noescape
func progressImport(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport taskq_v1 panic
//go:noescape
func panicImport(ptr unsafe.Pointer, size uint32)

// guest is the host on the other side of the imports.
type guest struct{}

func current() host { return guest{} }

// read asks for the whole of something: the first guess is enough for most.
func read(from func(unsafe.Pointer, uint32) int32) []byte {
	buf := make([]byte, 2048)
	for {
		n := from(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
		switch {
		case n < 0:
			return nil
		case int(n) <= len(buf):
			return buf[:n]
		}
		buf = make([]byte, n)
	}
}

func pointer(p []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p))
}

func (guest) input() []byte                { return read(inputRead) }
func (guest) meta() []byte                 { return read(metaRead) }
func (guest) push(result []byte)           { outputWrite(pointer(result)) }
func (guest) fail(record []byte)           { failImport(pointer(record)) }
func (guest) snooze(ms int64)              { snoozeImport(ms) }
func (guest) heartbeat() uint32            { return heartbeatImport() }
func (guest) progress(record []byte) int32 { return progressImport(pointer(record)) }
func (guest) panicked(text string)         { panicImport(pointer([]byte(text))) }

func (guest) retryAfter(ms int64, consume bool) {
	var spend uint32
	if consume {
		spend = 1
	}
	retryAfterImport(ms, spend)
}

func (guest) log(level int32, text []byte) {
	ptr, size := pointer(text)
	logImport(level, ptr, size)
}

// died ends the guest as Go's runtime would, in words that the host knows.
func (guest) died(text string, goroutine []byte) {
	os.Stderr.WriteString("panic: " + text + "\n\n" + string(goroutine))
	os.Exit(2)
}
