package rewrite

import (
	"math/bits"

	"github.com/taskq-host/taskq-host/host/scan"
)

// output is a module that is being written.
type output []byte

func (o *output) u32(v uint32) {
	for v >= 0x80 {
		*o = append(*o, byte(v)|0x80)
		v >>= 7
	}
	*o = append(*o, byte(v))
}

// sizeU32 is how many bytes u32 writes.
func sizeU32(v uint32) int { return max(1, (bits.Len32(v)+6)/7) }

// section writes a section whose content is known.
func (o *output) section(id scan.SectionID, content []byte) {
	*o = append(*o, byte(id))
	o.u32(uint32(len(content)))
	*o = append(*o, content...)
}

// bounds writes the limits of a table or memory, always with a maximum.
func (o *output) bounds(low, high uint32) {
	*o = append(*o, 1)
	o.u32(low)
	o.u32(high)
}

// s64 writes a signed number.
func (o *output) s64(v int64) {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			*o = append(*o, b)
			return
		}
		*o = append(*o, b|0x80)
	}
}

func (o *output) name(s string) {
	o.u32(uint32(len(s)))
	*o = append(*o, s...)
}

func (o *output) valTypes(types []scan.ValType) {
	o.u32(uint32(len(types)))
	for _, t := range types {
		*o = append(*o, byte(t))
	}
}

// op writes an instruction with unsigned immediates.
func (o *output) op(op scan.Op, immediates ...uint32) {
	if op > 0xff {
		*o = append(*o, byte(op>>8))
		o.u32(uint32(op & 0xff))
	} else {
		*o = append(*o, byte(op))
	}
	for _, v := range immediates {
		o.u32(v)
	}
}

func (o *output) i32(v int32) {
	*o = append(*o, byte(scan.OpI32Const))
	o.s64(int64(v))
}

func (o *output) i64(v int64) {
	*o = append(*o, byte(scan.OpI64Const))
	o.s64(v)
}
