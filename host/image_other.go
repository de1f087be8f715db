//go:build !linux

package host

import "errors"

// residentMost bounds what a slot is taken to keep for itself; here that is
// all of it.
const residentMost = 1 << 62

// image is what linear memory holds when an attempt begins.
type image struct{ bytes []byte }

func newImage(memory []byte) (*image, error) { return &image{bytes: append([]byte{}, memory...)}, nil }

func (i *image) close() { i.bytes = nil }

// wear makes the slab begin with the image; all behind it is zero afterwards.
func (s *slab) wear(i *image) error {
	s.worn = true
	if s.grow(int64(len(i.bytes))) == nil {
		return errors.New("no memory for an image")
	}
	s.restore(i)
	return nil
}

// restore makes the slab what it was when it began to wear the image.
func (s *slab) restore(i *image) bool {
	n := copy(s.bytes, i.bytes)
	clear(s.bytes[n:max(int64(n), s.used)])
	s.used = int64(n)
	return true
}
