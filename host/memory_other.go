//go:build !linux

package host

// slab is plain memory where the system gives no zeroed pages on demand.
type slab struct {
	capacity int64
	bytes    []byte
	used     int64
	worn     bool // it begins with an image
}

func newSlab(capacity int64) (*slab, error) { return &slab{capacity: capacity}, nil }

// grow gives the first size bytes; they move when there was no room.
func (s *slab) grow(size int64) []byte {
	if size > s.capacity {
		return nil
	}
	if size > int64(len(s.bytes)) {
		grown := make([]byte, max(size, min(2*int64(len(s.bytes)), s.capacity)))
		copy(grown, s.bytes[:s.used])
		s.bytes = grown
	}
	s.used = max(s.used, size)
	return s.bytes[:size:size]
}

func (s *slab) zero() bool {
	if s.worn {
		return false
	}
	clear(s.bytes[:s.used])
	s.used = 0
	return true
}

// zeroBehind reports whether all from some place on is zero.
func (s *slab) zeroBehind(from int64) bool {
	for _, b := range s.bytes[min(from, int64(len(s.bytes))):] {
		if b != 0 {
			return false
		}
	}
	return true
}

func (s *slab) free() { s.bytes = nil }
