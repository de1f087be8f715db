package host

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/abi"
)

var (
	denied     = code(abi.CodeDenied)
	deniedWide = uint64(1<<64 - 2) // the same as an i64
)

// taskqImports are the functions of module taskq_v1, each a leaf: none of them
// ever calls back into the guest.
var taskqImports = []hostImport{
	{abi.Module, "input_read", "ii", "i", anyStage &^ stageInit, denied, inputRead},
	{abi.Module, "meta_read", "ii", "i", stageRun | stageHook, denied, metaRead},
	{abi.Module, "output_write", "ii", "i", anyStage &^ stageInit, denied, outputWrite},
	{abi.Module, "fail", "ii", "i", stageRun | stageHook | stageDescribe, denied, fail},
	{abi.Module, "snooze", "I", "i", stageRun, denied, snooze},
	{abi.Module, "retry_after", "Ii", "i", stageRun, denied, retryAfter},
	{abi.Module, "log", "iii", "", anyStage, 0, logLine},
	{abi.Module, "heartbeat", "", "i", stageRun | stageHook, 0, heartbeat},
	{abi.Module, "progress", "ii", "i", stageRun, denied, progress},
	{abi.Module, "now_ms", "", "I", impureStages, deniedWide, nowMS},
	{abi.Module, "random", "ii", "i", impureStages, denied, random},
	{abi.Module, "panic", "ii", "", anyStage, 0, guestPanic},
}

func inputRead(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.answer(mem, stack[0], stack[1], x.attempt.Input)
}

func metaRead(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = x.answer(mem, stack[0], stack[1], x.metaJSON())
}

func outputWrite(x *execution, mem api.Memory, stack []uint64) {
	x.push(x.read(mem, stack[0], stack[1]))
	stack[0] = code(abi.CodeOK)
}

// fail refuses a record that is longer than any may be; nonsense ends the
// attempt, because a guest that reports nonsense would report it at each retry.
func fail(x *execution, mem api.Memory, stack []uint64) {
	record := x.read(mem, stack[0], stack[1])
	if len(record) > abi.MaxFailure {
		x.warn(fmt.Sprintf("a failure record of %d bytes was refused; the most is %d", len(record), abi.MaxFailure))
		stack[0] = code(abi.CodeTooLarge)
		return
	}
	if err := x.recordFailure(record); err != nil {
		x.violation("%v", err)
	}
	stack[0] = code(abi.CodeOK)
}

func snooze(x *execution, _ api.Memory, stack []uint64) {
	x.deferral(stack, unwindSnooze, false)
}

func retryAfter(x *execution, _ api.Memory, stack []uint64) {
	x.deferral(stack, unwindRetryAfter, uint32(stack[1]) != 0)
}

func (x *execution) deferral(stack []uint64, kind unwindKind, consume bool) {
	ms := int64(stack[0])
	if ms < 0 {
		stack[0] = code(abi.CodeInvalid)
		return
	}
	x.unwind(unwind{kind: kind, delay: abi.Milliseconds(ms), consume: consume})
}

func logLine(x *execution, mem api.Memory, stack []uint64) {
	x.log(abi.Level(int32(stack[0])), x.read(mem, stack[1], stack[2]), "")
}

// heartbeat answers the caller's bits and whether the timeout is near.
func heartbeat(x *execution, _ api.Memory, stack []uint64) {
	const callers = abi.HeartbeatCancel | abi.HeartbeatDraining | abi.HeartbeatLeaseLost
	var bits uint32
	if x.attempt.Heartbeat != nil {
		bits = x.attempt.Heartbeat() & callers
	}
	if x.attempt.Timeout > 0 && x.attempt.Timeout-x.now().Sub(x.started) < abi.DeadlineNear {
		bits |= abi.HeartbeatDeadlineNear
	}
	x.tellProgress(false)
	stack[0] = uint64(bits)
}

func progress(x *execution, mem api.Memory, stack []uint64) {
	stack[0] = code(x.takeProgress(x.read(mem, stack[0], stack[1])))
}

// takeProgress accepts a JSON object of at most MaxProgress bytes.
func (x *execution) takeProgress(raw []byte) abi.Code {
	if len(raw) > abi.MaxProgress {
		return abi.CodeTooLarge
	}
	record, err := abi.RepairJSON(raw)
	if err != nil || !isObject(record) {
		return abi.CodeInvalid
	}
	x.progress(record)
	return abi.CodeOK
}

func isObject(record []byte) bool {
	for _, c := range record {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{'
	}
	return false
}

func nowMS(x *execution, _ api.Memory, stack []uint64) {
	stack[0] = uint64(x.clock.wall().UnixMilli())
}

func random(x *execution, mem api.Memory, stack []uint64) {
	x.fillRandom(x.read(mem, stack[0], stack[1]))
	stack[0] = code(abi.CodeOK)
}

// fillRandom fills in pieces, so that a guest that wants 64 MiB of it is
// stopped in between.
func (x *execution) fillRandom(p []byte) {
	for len(p) > 0 {
		x.stopIfOver()
		n := min(len(p), pieceSize)
		if err := x.clock.fill(p[:n]); err != nil {
			panic(fmt.Errorf("random bytes: %w", err))
		}
		p = p[n:]
	}
}

func guestPanic(x *execution, mem api.Memory, stack []uint64) {
	text := x.read(mem, stack[0], stack[1])
	if len(text) > abi.MaxStack {
		text = text[:abi.MaxStack]
	}
	x.unwind(unwind{kind: unwindPanic, text: string(text)})
}
