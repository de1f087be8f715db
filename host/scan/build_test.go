package scan_test

import "bytes"

// The tests write modules by hand where the text format can't say what is
// wrong with them.

const header = "\x00asm\x01\x00\x00\x00"

func module(sections ...string) string {
	out := header
	for _, s := range sections {
		out += s
	}
	return out
}

func section(id byte, content ...string) string {
	body := join(content...)
	return string([]byte{id}) + u32(uint32(len(body))) + body
}

// vec is a vector of items with their right number before them.
func vec(items ...string) string { return u32(uint32(len(items))) + join(items...) }

// times is a vector of n equal items.
func times(n int, item string) string {
	return u32(uint32(n)) + string(bytes.Repeat([]byte(item), n))
}

func repeat(n int, code string) string { return string(bytes.Repeat([]byte(code), n)) }

func join(parts ...string) string {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return string(out)
}

func u32(v uint32) string {
	var out []byte
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return string(append(out, byte(v)))
}

// str is a name: its length and its bytes.
func str(s string) string { return u32(uint32(len(s))) + s }

// most is the largest number of 32 bits, as a count that no module can have.
const most = "\xff\xff\xff\xff\x0f"

const (
	typeVoid  = "\x60\x00\x00"
	void      = "\x01\x04\x01" + typeVoid // a whole type section
	oneFunc   = "\x03\x02\x01\x00"        // a function section: one, of type 0
	oneMemory = "\x05\x03\x01\x00\x01"    // a memory section: one page
	noLocals  = "\x00"
	end       = "\x0b"
)

// body is one entry of a code section.
func body(parts ...string) string { return str(join(parts...)) }

// program is a module with one function of no parameters or results, a
// memory, and this code.
func program(code ...string) string {
	return module(void, oneFunc, oneMemory, section(10, vec(body(join(noLocals, join(code...), end)))))
}
