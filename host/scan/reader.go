package scan

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over a module. Its first refusal sticks: after it every read
// gives zero at once, so a decoder may read on and look at err where it loops.
type reader struct {
	b   []byte
	pos int
	end int    // nothing is read at or past it
	in  string // what is being read, for messages: "type section", "function 7"
	err *Refusal
}

// failAt refuses the module, unless that has happened already.
func (r *reader) failAt(offset int, rule, format string, args ...any) {
	if r.err != nil {
		return
	}
	r.err = &Refusal{Rule: rule, Message: r.in + ": " + fmt.Sprintf(format, args...), Offset: offset}
	r.pos = r.end
}

func (r *reader) fail(rule, format string, args ...any) { r.failAt(r.pos, rule, format, args...) }

func (r *reader) unsupported(offset int, rule string) { r.failAt(offset, rule, "%s", features[rule]) }

func (r *reader) truncated(what string) {
	r.fail(RuleTruncated, "it ends in the middle of %s; the file is cut off or its sizes are wrong", what)
}

// window makes the next n bytes all there is, until the returned function
// puts the old end back; that one also insists that all was read.
func (r *reader) window(n int, in string) (restore func()) {
	outer, where := r.end, r.in
	r.in = in
	if n > r.end-r.pos {
		r.fail(RuleTruncated, "it claims %d bytes, but only %d are left; the file is cut off or its sizes are wrong", n, r.end-r.pos)
		return func() {}
	}
	r.end = r.pos + n
	return func() {
		if r.pos != r.end {
			r.fail(RuleTrailing, "%d bytes follow its last item", r.end-r.pos)
		}
		r.end, r.in = outer, where
		if r.err != nil {
			r.pos = r.end
		}
	}
}

func (r *reader) byte(what string) byte {
	if r.pos >= r.end {
		r.truncated(what)
		return 0
	}
	b := r.b[r.pos]
	r.pos++
	return b
}

func (r *reader) skip(n int, what string) {
	if n > r.end-r.pos {
		r.truncated(what)
		return
	}
	r.pos += n
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32(what string) uint32 {
	if r.pos < r.end {
		if b := r.b[r.pos]; b < 0x80 {
			r.pos++
			return uint32(b)
		}
	}
	return r.longU32(what)
}

func (r *reader) longU32(what string) uint32 {
	var v uint32
	start := r.pos
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte(what)
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.failAt(start, RuleNumber, "%s is not a number of 32 bits", what)
	return 0
}

// signed reads a signed LEB128 of 32, 33 or 64 bits.
func (r *reader) signed(bits int, what string) int64 {
	if r.pos < r.end {
		if b := r.b[r.pos]; b < 0x80 {
			r.pos++
			return int64(int8(b<<1) >> 1)
		}
	}
	return r.longSigned(bits, what)
}

func (r *reader) longSigned(bits int, what string) int64 {
	var v int64
	start := r.pos
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte(what)
		if left := bits - shift; left < 7 {
			// The last byte's unused bits must repeat the sign.
			if sign := int8(b<<1) >> left; sign != 0 && sign != -1 || b >= 0x80 {
				break
			}
		}
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.failAt(start, RuleNumber, "%s is not a number of %d bits", what, bits)
	return 0
}

// count reads how many items follow, each at least size bytes long, and holds
// it against the bytes that are left and the limit.
func (r *reader) count(what string, size, limit int, rule string) int {
	start := r.pos
	n := int64(r.u32(what))
	if n > int64((r.end-r.pos)/size) {
		r.failAt(start, RuleCount, "it claims %d %s, which can't fit into the %d bytes that follow", n, what, r.end-r.pos)
		return 0
	}
	if n > int64(limit) {
		r.failAt(start, rule, "it has %d %s, but the limit is %d", n, what, limit)
		return 0
	}
	return int(n)
}

// name reads a string, a part of the module's bytes; it must be UTF-8 and
// within the limit.
func (r *reader) name(what string, limit int) []byte {
	start := r.pos
	n := int(r.u32(what))
	if n > r.end-r.pos {
		r.failAt(start, RuleTruncated, "%s claims %d bytes, but only %d are left", what, n, r.end-r.pos)
		return nil
	}
	if n > limit {
		r.failAt(start, RuleNameBytes, "%s has %d bytes, but the limit is %d", what, n, limit)
		return nil
	}
	b := r.b[r.pos : r.pos+n]
	if !utf8.Valid(b) {
		r.failAt(start, RuleName, "%s is not valid UTF-8", what)
		return nil
	}
	r.pos += n
	return b
}

// index reads an index and checks it against what the module has.
func (r *reader) index(of string, have int) uint32 {
	start := r.pos
	i := r.u32(of)
	if int64(i) >= int64(have) && r.err == nil {
		r.failAt(start, RuleIndex, "there is no %s %d: the module has %d", of, i, have)
		return 0
	}
	return i
}
