package rewrite

import "github.com/taskq-host/taskq-host/host/scan"

// check is an empty loop. It computes nothing and takes and leaves no values,
// so it may stand between any two instructions; but an engine that looks for
// interruption at the heads of loops looks there.
var check = []byte{0x03, 0x40, 0x0b} // loop, no parameters or results; end

// Interruptible rewrites a module so that an engine which looks for
// interruption only at the heads of loops can stop all of it soon:
//
//   - An empty loop begins each function. Without it a chain of functions that
//     each call the next one twice, in a module of 250 bytes, runs for hours
//     past its deadline, and the process can't collect garbage meanwhile.
//   - An empty loop stands before every instruction whose time depends on an
//     operand (memory.fill, table.copy, memory.grow …), but for the first one of
//     a function, which the function's own check is near. Else one body without
//     a loop could fill the whole memory forty thousand times.
//   - The memory and the tables get maxima within o.
//   - Custom sections are dropped, except the functions' names (cut to 512
//     bytes), where they are well-formed.
//
// All else is copied. A body grows by three bytes a check, so it may pass the
// limit that a scan set. The error is about the options, or a [*scan.Refusal]
// where the module begins with more memory or table entries than o allows it.
func Interruptible(wasm []byte, m *scan.Module, o Options) ([]byte, error) {
	if err := o.check(wasm, m); err != nil {
		return nil, err
	}
	code := interruptibleCode{wasm: wasm, bodies: m.Bodies}
	out := make(output, 0, len(wasm)+code.growth()+64)
	out = append(out, wasm[:8]...)
	for _, s := range m.Sections {
		switch s.ID {
		case scan.SectionTable:
			out.section(s.ID, tables(m, o.TableMax))
		case scan.SectionMemory:
			out.section(s.ID, memories(m, o.MemoryMaxPages))
		case scan.SectionCode:
			code.write(&out)
		default:
			out = append(out, wasm[s.Start:s.Offset+s.Len]...)
		}
	}
	if m.Names.Len > 0 {
		out.section(scan.SectionCustom, names(wasm, m.Names))
	}
	return out, nil
}

// interruptibleCode is a code section with checks.
type interruptibleCode struct {
	wasm   []byte
	bodies []scan.Body
}

// size is how long a body becomes.
func (interruptibleCode) size(b scan.Body) int {
	checks := 1 + max(0, int(b.Bulk)-1)
	return b.End - b.Offset + checks*len(check)
}

// growth bounds how much longer the section becomes.
func (c interruptibleCode) growth() int {
	const longestNumber = 5
	n := 2 * longestNumber
	for _, b := range c.bodies {
		n += c.size(b) - (b.End - b.Offset) + longestNumber
	}
	return n
}

func (c interruptibleCode) write(out *output) {
	size := sizeU32(uint32(len(c.bodies)))
	for _, b := range c.bodies {
		n := c.size(b)
		size += sizeU32(uint32(n)) + n
	}
	*out = append(*out, byte(scan.SectionCode))
	out.u32(uint32(size))
	out.u32(uint32(len(c.bodies)))
	for _, b := range c.bodies {
		out.u32(uint32(c.size(b)))
		c.body(out, b)
	}
}

func (c interruptibleCode) body(out *output, b scan.Body) {
	*out = append(*out, c.wasm[b.Offset:b.Code]...)
	*out = append(*out, check...)
	from := b.Code
	if b.Bulk > 1 {
		first := true
		for in := range b.Instructions(c.wasm) {
			if !in.Op.IsBulk() {
				continue
			}
			if !first {
				*out = append(*out, c.wasm[from:in.Offset]...)
				*out = append(*out, check...)
				from = in.Offset
			}
			first = false
		}
	}
	*out = append(*out, c.wasm[from:b.End]...)
}
