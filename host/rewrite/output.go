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
