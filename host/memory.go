package host

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskq-host/taskq-host/abi"
)

// linearMemory is the memory of one execution. It enforces the limit, because
// the engine's own is one for all modules and tells nobody that it denied; and
// it owns the bytes, because the engine forgets to free them when an
// instantiation fails.
type linearMemory struct {
	slab   *slab
	limit  int64 // bytes
	peak   int64
	denied bool // the last growth was refused

	exactly int64 // what the host's own growth gives, to set the size back; 0: not now
}

// Allocate implements experimental.MemoryAllocator.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate gives the memory at its new size, or nil past the limit. A
// growth that succeeds forgets an earlier refusal: the guest coped with it.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if m.exactly > 0 {
		return m.slab.grow(m.exactly)
	}
	if size > uint64(m.limit) {
		m.denied = true
		return nil
	}
	buf := m.slab.grow(int64(size))
	m.denied = buf == nil
	if buf != nil {
		m.peak = max(m.peak, int64(size))
	}
	return buf
}

// Free does nothing: the execution gives the memory back when the guest has
// stopped for certain.
func (m *linearMemory) Free() {}

// memoryPool keeps slabs that are all zero for the next execution. A slab is
// zeroed before it enters the pool, never after it left it.
type memoryPool struct {
	mu     sync.Mutex
	idle   map[int64][]*slab // by capacity
	count  int
	most   int // idle slabs to keep
	closed bool
}

func newMemoryPool(most int) *memoryPool {
	return &memoryPool{idle: make(map[int64][]*slab), most: most}
}

// take returns a zeroed slab that can hold limit bytes. An error is the
// system's: no address space.
func (p *memoryPool) take(limit int64) (*slab, error) {
	capacity := int64(abi.PageSize)
	for capacity < limit {
		capacity *= 2
	}
	p.mu.Lock()
	if slabs := p.idle[capacity]; len(slabs) > 0 {
		s := slabs[len(slabs)-1]
		p.idle[capacity] = slabs[:len(slabs)-1]
		p.count--
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return newSlab(capacity)
}

// give zeroes what was used and keeps the slab, or frees it when there are
// enough, or when it couldn't be zeroed.
func (p *memoryPool) give(s *slab) {
	if s.zero() {
		p.mu.Lock()
		keep := !p.closed && p.count < p.most
		if keep {
			p.idle[s.capacity] = append(p.idle[s.capacity], s)
			p.count++
		}
		p.mu.Unlock()
		if keep {
			return
		}
	}
	s.free()
}

func (p *memoryPool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.count, p.closed = nil, 0, true
	p.mu.Unlock()
	for _, slabs := range idle {
		for _, s := range slabs {
			s.free()
		}
	}
}
