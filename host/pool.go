package host

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// PoolOptions bound the instances that an engine keeps for the next attempt
// of the same module, tenant and settings. The zero value keeps none: each
// attempt gets an instance of its own.
type PoolOptions struct {
	Slots       int   // idle ones kept; 0: no pool
	Bytes       int64 // of memory that they may keep, as estimated; 0 means 512 MiB
	VerifyEvery int64 // compares every so many restored slots with their image, byte for byte; 0 means 1,000
}

func (o PoolOptions) withDefaults() (PoolOptions, error) {
	if o.Slots < 0 || o.Bytes < 0 || o.VerifyEvery < 0 {
		return o, errors.New("the Slots, Bytes and VerifyEvery of Pool must not be negative")
	}
	if o.Bytes == 0 {
		o.Bytes = 512 << 20
	}
	if o.VerifyEvery == 0 {
		o.VerifyEvery = 1_000
	}
	return o, nil
}

// PoolStats count since the engine began, but for Idle and IdleBytes.
type PoolStats struct {
	Idle       int   // slots that wait
	IdleBytes  int64 // that they keep, as estimated
	Hits       int64 // attempts that found a slot
	Clones     int64 // slots made from an image
	Images     int64 // images made
	Evicted    int64 // idle slots closed to stay within the bounds
	Dropped    int64 // slots that were not fit for another attempt
	Verified   int64
	Mismatches int64 // restored slots that differed from their image; their modules aren't pooled any more
}

// poolKey says who may share an image and its slots: nobody but the same
// tenant, with the same settings and the same limit of memory.
type poolKey struct {
	tenant, settings string
	memory           int64
}

func (x *execution) poolKey() poolKey {
	return poolKey{tenant: x.attempt.Meta.Tenant, settings: x.attempt.PoolKey, memory: x.memory.limit}
}

// family is an image and the slots that come from it.
type family struct {
	module  *Module
	key     poolKey
	image   *image
	globals []uint64
	clock   time.Duration // how far the prelude's clock has come

	// Guarded by the pool.
	idle []*list.Element // of *slot; the last is the next to serve
	live int             // slots, idle ones among them, and users of the image
}

// slotPool keeps idle slots. No slot is ever in two places: it's in idle, or
// with the one attempt that leased it.
type slotPool struct {
	engine  *Engine
	options PoolOptions

	restored atomic.Int64

	mu       sync.Mutex
	families map[*Module]map[poolKey]*family
	oldest   *list.List // idle slots, the one that waits longest in front
	stats    PoolStats
}

func newSlotPool(e *Engine, o PoolOptions) *slotPool {
	if o.Slots == 0 {
		return nil
	}
	return &slotPool{engine: e, options: o, families: make(map[*Module]map[poolKey]*family), oldest: list.New()}
}

// lease gives the execution an idle slot, or a new one made from the image;
// nil without an error means that there is no image yet.
func (p *slotPool) lease(x *execution, key poolKey) (*slot, error) {
	p.mu.Lock()
	f := p.families[x.module][key]
	if f == nil {
		p.mu.Unlock()
		return nil, nil
	}
	if n := len(f.idle); n > 0 {
		s := p.takeIdle(f, n-1)
		p.stats.Hits++
		p.mu.Unlock()
		x.enterSlot(s)
		x.goOn(f)
		return s, nil
	}
	f.live++ // keeps the image
	p.stats.Clones++
	p.mu.Unlock()
	s, err := x.cloneSlot(f)
	if err != nil {
		p.mu.Lock()
		p.release(f)
		p.mu.Unlock()
		return nil, err
	}
	x.enterSlot(s)
	x.goOn(f)
	return s, nil
}

// found makes a family of a slot in which the prelude has run, unless another
// attempt was faster; then the slot serves this attempt alone. After an error
// the slot must not be used.
func (p *slotPool) found(x *execution, key poolKey, s *slot) error {
	f, err := x.newFamily(key, s)
	if err != nil {
		return err
	}
	if err := s.memory.slab.wear(f.image); err != nil {
		f.image.close()
		return err
	}
	s.gauge.Set(s.full)
	x.goOn(f)
	p.mu.Lock()
	defer p.mu.Unlock()
	families := p.families[x.module]
	if families[key] != nil || !x.module.reusable() {
		f.image.close()
		return nil
	}
	if families == nil {
		families = make(map[poolKey]*family)
		p.families[x.module] = families
	}
	families[key] = f
	f.live = 1
	s.family = f
	p.stats.Images++
	return nil
}

// giveBack takes a slot after an attempt: restored, it waits for the next one,
// unless it isn't sound or the module is not to be kept.
func (p *slotPool) giveBack(s *slot, sound bool) {
	f := s.family
	if sound {
		sound = s.restore()
	}
	var differs error
	verified := sound && p.restored.Add(1)%p.options.VerifyEvery == 0
	if verified {
		differs = s.pristine()
	}
	p.mu.Lock()
	if verified {
		p.stats.Verified++
	}
	var closing []*slot
	switch {
	case differs != nil:
		p.stats.Mismatches++
		f.module.quarantined.Store(true)
		closing = append(p.retire(f.module), s)
		p.release(f)
	case !sound:
		p.stats.Dropped++
		closing = append(closing, s)
		p.release(f)
	case !f.module.reusable():
		closing = append(closing, s)
		p.release(f)
	default:
		f.idle = append(f.idle, p.oldest.PushBack(s))
		p.stats.Idle++
		p.stats.IdleBytes += s.keeps()
		closing = p.evict()
	}
	p.mu.Unlock()
	if differs != nil {
		p.engine.log.Error("a restored instance differs from its image, so its module isn't pooled any more",
			"module", f.module.report.Digest, "error", differs)
	}
	for _, s := range closing {
		s.close(p.engine)
	}
}

// keeps estimates what an idle slot keeps for itself.
func (s *slot) keeps() int64 { return min(int64(len(s.family.image.bytes)), residentMost) }

// evict takes out idle slots until the rest is within the bounds.
func (p *slotPool) evict() []*slot {
	var out []*slot
	for p.stats.Idle > p.options.Slots || p.stats.IdleBytes > p.options.Bytes {
		s := p.oldest.Front().Value.(*slot)
		out = append(out, p.takeIdle(s.family, 0)) // its family's own oldest
		p.stats.Evicted++
		p.release(s.family)
	}
	return out
}

// takeIdle takes one of a family's idle slots out; it still counts as live.
func (p *slotPool) takeIdle(f *family, i int) *slot {
	element := f.idle[i]
	f.idle = append(f.idle[:i], f.idle[i+1:]...)
	s := p.oldest.Remove(element).(*slot)
	p.stats.Idle--
	p.stats.IdleBytes -= s.keeps()
	return s
}

// release gives up one use of a family; the last one frees the image.
func (p *slotPool) release(f *family) {
	if f.live--; f.live > 0 {
		return
	}
	if of := p.families[f.module]; of[f.key] == f {
		if delete(of, f.key); len(of) == 0 {
			delete(p.families, f.module)
		}
	}
	f.image.close()
}

// retire takes out all idle slots of a module. Those in use go when they are
// given back, because the module isn't reusable any more.
func (p *slotPool) retire(m *Module) []*slot {
	var out []*slot
	for _, f := range p.families[m] {
		for len(f.idle) > 0 {
			out = append(out, p.takeIdle(f, 0))
			p.release(f)
		}
	}
	return out
}

// forget closes what is kept of a module that the engine has dropped.
func (p *slotPool) forget(m *Module) {
	if p == nil {
		return
	}
	p.mu.Lock()
	closing := p.retire(m)
	p.mu.Unlock()
	for _, s := range closing {
		s.close(p.engine)
	}
}

// PoolStats says what the engine's pool has done; all zero without one.
func (e *Engine) PoolStats() PoolStats {
	if e.pool == nil {
		return PoolStats{}
	}
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	return e.pool.stats
}
