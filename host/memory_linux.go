package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// residentBytes of a slab are cleared by hand and stay resident; the rest is
// given back to the system and comes back zeroed. Clearing 64 KiB takes some
// 2 µs, while a page fault takes about half a microsecond for each 4 KiB: a
// small guest should meet none, and a big one touches only a few of its pages.
const residentBytes = 128 << 10

// slab is a reserved range of addresses of which a prefix is accessible.
type slab struct {
	capacity  int64
	region    []byte
	committed int64 // bytes that may be read and written
	used      int64 // bytes that may be other than zero, or than the image
	worn      bool  // it begins with an image
}

func newSlab(capacity int64) (*slab, error) {
	// PROT_NONE costs neither memory nor overcommit until it is committed.
	region, err := unix.Mmap(-1, 0, int(capacity), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of linear memory: %w", capacity, err)
	}
	// A huge page would make the first store to a small guest's memory zero 2 MiB.
	_ = unix.Madvise(region, unix.MADV_NOHUGEPAGE)
	return &slab{capacity: capacity, region: region}, nil
}

// grow gives the first size bytes, or nil when the system has none.
func (s *slab) grow(size int64) []byte {
	if size > s.capacity {
		return nil
	}
	if size > s.committed {
		if err := unix.Mprotect(s.region[:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil
		}
		s.committed = size
	}
	s.used = max(s.used, size)
	return s.region[:size:size]
}

// zero makes all bytes zero again; false means that the slab must not be used.
func (s *slab) zero() bool {
	if s.worn {
		return false
	}
	resident := min(s.used, residentBytes)
	clear(s.region[:resident])
	if s.used > resident {
		if err := unix.Madvise(s.region[resident:s.used], unix.MADV_DONTNEED); err != nil {
			return false
		}
	}
	s.used = 0
	return true
}

// zeroBehind reports whether all from some place on is zero.
func (s *slab) zeroBehind(from int64) bool {
	for _, b := range s.region[min(from, s.committed):s.committed] {
		if b != 0 {
			return false
		}
	}
	return true
}

func (s *slab) free() {
	_ = unix.Munmap(s.region) // fails only for a range that isn't ours
	s.region = nil
}
