package taskq

// host is what an attempt can ask of the machine that runs it: the imports of
// the ABI on WebAssembly, a process's stdio natively, memory in [Try].
//
// Codes are the ABI's: 0 or a negative one.
type host interface {
	input() []byte
	meta() []byte
	push(result []byte)
	fail(record []byte)
	snooze(ms int64)                   // returns only where there is nothing to unwind
	retryAfter(ms int64, consume bool) // likewise
	log(level int32, text []byte)
	heartbeat() uint32
	progress(record []byte) int32
	panicked(text string)               // likewise, after fail
	died(text string, goroutine []byte) // likewise, without a record
}
