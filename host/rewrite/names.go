package rewrite

import (
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/host/scan"
)

// maxName is where a function's name is cut, in bytes: an engine repeats it
// for every frame of a stack trace, of which there may be many.
const maxName = 512

// names is the content of a name section with the functions' names and
// nothing else: a module's own name would become that of its instances, and
// locals' names are never shown.
func names(wasm []byte, from scan.NameSection) []byte {
	var entries output
	n := uint32(0)
	for i, name := range from.FuncNames(wasm) {
		name = cut(name)
		entries.u32(i)
		entries.u32(uint32(len(name)))
		entries = append(entries, name...)
		n++
	}
	return nameSection(n, entries)
}

// nameSection is the content of a name section with n functions' names.
func nameSection(n uint32, entries []byte) []byte {
	const functionNames = 1
	out := output("\x04name")
	out = append(out, functionNames)
	out.u32(uint32(sizeU32(n) + len(entries)))
	out.u32(n)
	return append(out, entries...)
}

// cut shortens a name without splitting a character.
func cut(name []byte) []byte {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}
