package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// copiedImage is the size up to which an image is copied back whole: a few
	// microseconds, and no page fault ever.
	copiedImage = 256 << 10
	// residentMost is how many bytes a slot may keep for itself of a larger
	// image. What an attempt wrote beyond that goes back to the system, and
	// faults when the next one touches it.
	residentMost = 1 << 20
)

// image is what linear memory holds when an attempt begins. A large one is a
// sealed file in memory, which slots map and whose pages they share until they
// write to them; sealed, because a file that shrinks would be the process's
// death (SIGBUS) at the next access behind its end.
type image struct {
	bytes []byte // must not be written
	fd    int    // -1: bytes are all there is
}

func newImage(memory []byte) (*image, error) {
	if len(memory) <= copiedImage {
		return &image{bytes: append([]byte{}, memory...), fd: -1}, nil
	}
	fd, err := unix.MemfdCreate("taskq-image", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an image: %w", err)
	}
	i := &image{fd: fd}
	for rest := memory; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			i.close()
			return nil, fmt.Errorf("write an image: %w", err)
		}
		rest = rest[n:]
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		i.close()
		return nil, fmt.Errorf("seal an image: %w", err)
	}
	if i.bytes, err = unix.Mmap(fd, 0, len(memory), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		i.close()
		return nil, fmt.Errorf("map an image: %w", err)
	}
	return i, nil
}

// close frees the image. Slots that map it keep its pages.
func (i *image) close() {
	if i.fd < 0 {
		return
	}
	if i.bytes != nil {
		_ = unix.Munmap(i.bytes)
	}
	_ = unix.Close(i.fd)
	i.bytes, i.fd = nil, -1
}

// wear makes the slab begin with the image; all behind it is zero afterwards.
func (s *slab) wear(i *image) error {
	s.worn = true
	n := int64(len(i.bytes))
	if s.grow(n) == nil {
		return errors.New("no memory for an image")
	}
	if i.fd >= 0 {
		at := unsafe.Pointer(&s.region[0])
		if _, err := unix.MmapPtr(i.fd, 0, at, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
			return fmt.Errorf("map an image: %w", err)
		}
	}
	if !s.restore(i) {
		return errors.New("an image could not be restored")
	}
	return nil
}

// restore makes the slab what it was when it began to wear the image; false
// means that it must not be used.
func (s *slab) restore(i *image) bool {
	n := int64(len(i.bytes))
	if s.used > n {
		if err := unix.Madvise(s.region[n:s.used], unix.MADV_DONTNEED); err != nil {
			return false
		}
	}
	s.used = n
	if i.fd < 0 {
		copy(s.region, i.bytes)
		return true
	}
	if copyBack(s.region[:n], i.bytes) {
		return true
	}
	return unix.Madvise(s.region[:n], unix.MADV_DONTNEED) == nil
}

// Bits of an entry of /proc/self/pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or shared: not written to since it was mapped
)

var pagemap = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil // some containers hide it
	}
	return f
})

var pagemapBuffers = sync.Pool{New: func() any { return new([]byte) }}

// copyBack copies the pages that were written to, if they aren't too many and
// the system says which: no page is given up, so none faults again.
func copyBack(memory, from []byte) bool {
	file := pagemap()
	if file == nil {
		return false
	}
	page := os.Getpagesize()
	pages := len(memory) / page
	buffer := pagemapBuffers.Get().(*[]byte)
	defer pagemapBuffers.Put(buffer)
	if cap(*buffer) < 8*pages {
		*buffer = make([]byte, 8*pages)
	}
	entries := (*buffer)[:8*pages]
	at := uintptr(unsafe.Pointer(&memory[0])) / uintptr(page) * 8
	if _, err := file.ReadAt(entries, int64(at)); err != nil {
		return false
	}
	written := func(i int) bool {
		e := binary.NativeEndian.Uint64(entries[8*i:])
		return e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0
	}
	dirty := 0
	for i := range pages {
		if written(i) {
			dirty++
		}
	}
	if dirty*page > residentMost {
		return false
	}
	for i := range pages {
		if written(i) {
			copy(memory[i*page:(i+1)*page], from[i*page:])
		}
	}
	return true
}
