package host

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/abi"
)

// scriptImports are what the AssemblyScript compiler imports by itself.
var scriptImports = []hostImport{
	{abi.AssemblyScriptModule, "abort", "iiii", "", anyStage, 0, scriptAbort},
	{abi.AssemblyScriptModule, "seed", "", "F", anyStage, 0, scriptSeed},
	{abi.AssemblyScriptModule, "trace", "iiFFFFF", "", anyStage, 0, scriptTrace},
}

// scriptAbortCode is what AssemblyScript's other runtimes exit with.
const scriptAbortCode = 255

func scriptAbort(x *execution, mem api.Memory, stack []uint64) {
	text := fmt.Sprintf("%s at %s:%d:%d", x.scriptString(mem, stack[0]), x.scriptString(mem, stack[1]),
		uint32(stack[2]), uint32(stack[3]))
	x.stderr.write([]byte(text + "\n"))
	x.unwind(unwind{kind: unwindPanic, text: text, code: scriptAbortCode})
}

func scriptSeed(x *execution, _ api.Memory, stack []uint64) {
	var seed [8]byte
	x.fillRandom(seed[:])
	// 53 random bits, in [0, 1).
	stack[0] = math.Float64bits(float64(binary.LittleEndian.Uint64(seed[:])>>11) / (1 << 53))
}

func scriptTrace(x *execution, mem api.Memory, stack []uint64) {
	var text strings.Builder
	text.WriteString(x.scriptString(mem, stack[0]))
	for i := range min(uint32(stack[1]), 5) {
		fmt.Fprintf(&text, " %v", math.Float64frombits(stack[2+i]))
	}
	x.log(abi.LevelDebug, []byte(text.String()), "")
}

// scriptString reads a string as AssemblyScript keeps it: UTF-16, its length
// in bytes 4 bytes before it. Null is empty.
func (x *execution) scriptString(mem api.Memory, ptr uint64) string {
	at := uint32(ptr)
	if at == 0 {
		return ""
	}
	if at < 4 {
		x.violation("a string at %d has no header", at)
	}
	size := uint64(binary.LittleEndian.Uint32(x.read(mem, uint64(at-4), 4)))
	raw := x.read(mem, uint64(at), min(size, abi.MaxLogLine))
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}
