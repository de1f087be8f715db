package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/rewrite"
)

// slot is an instance with its memory. One that belongs to a family is set
// back to the family's image after each attempt and serves the next one; any
// other serves one attempt.
type slot struct {
	family *family // nil: for one attempt

	instance  api.Module
	memory    *linearMemory
	gauge     api.MutableGlobal // nil where the module isn't metered
	full      uint64            // the gauge as it begins
	globals   []api.MutableGlobal
	functions map[string]api.Function // looked up once: it takes 13 µs and 12 KB
}

// newSlot instantiates the module; nothing of it has run then. On an error the
// memory has been given back.
func (x *execution) newSlot() (*slot, error) {
	m := x.module
	slab, err := m.engine.memories.take(x.memory.limit)
	if err != nil {
		return nil, err
	}
	x.memory.slab = slab
	instance, err := m.engine.runtime.InstantiateModule(experimental.WithMemoryAllocator(x, x.memory), m.compiled, m.config)
	if err != nil {
		m.engine.memories.give(slab)
		return nil, err
	}
	s := &slot{instance: instance, memory: x.memory, functions: make(map[string]api.Function)}
	if m.metered {
		s.gauge = instance.ExportedGlobal(rewrite.GaugeExport).(api.MutableGlobal)
		s.full = s.gauge.Get()
	}
	return s, nil
}

// close ends the instance and gives its memory back.
func (s *slot) close(e *Engine) {
	_ = s.instance.Close(context.Background()) // has no files to close
	e.memories.give(s.memory.slab)
}

func (s *slot) function(name string) api.Function {
	f := s.functions[name]
	if f == nil {
		f = s.instance.ExportedFunction(name)
		s.functions[name] = f
	}
	return f
}

// begin gives the execution a slot in which everything has run that comes
// before the attempt. Where an error comes with a slot, it was the guest's.
func (x *execution) begin() (*slot, error) {
	m := x.module
	pool := m.engine.pool
	key := x.poolKey()
	pooled := pool != nil && m.reusable() && x.attempt.Kind != abi.KindDescribe
	if pooled {
		if s, err := pool.lease(x, key); s != nil || err != nil {
			return s, err
		}
		x.clock = imageClock(m.engine)
	}
	s, err := x.newSlot()
	if err != nil {
		return nil, err
	}
	x.enterSlot(s)
	for _, name := range m.prelude {
		value, err := x.call(name)
		if err != nil {
			return s, err
		}
		if value != 0 {
			return s, &preludeError{name: name, value: value}
		}
	}
	if pooled {
		if err := pool.found(x, key, s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (x *execution) enterSlot(s *slot) {
	x.slot, x.instance, x.memory = s, s.instance, s.memory
}

// newFamily takes the image of a slot in which the prelude has run, and makes
// the slot the family's first.
func (x *execution) newFamily(key poolKey, s *slot) (*family, error) {
	memory, ok := s.instance.Memory().Read(0, s.instance.Memory().Size())
	if !ok {
		return nil, errors.New("the memory can't be read whole")
	}
	f := &family{module: x.module, key: key, clock: x.clock.elapsed}
	var err error
	if f.image, err = newImage(memory); err != nil {
		return nil, err
	}
	s.findGlobals(x.module)
	for _, g := range s.globals {
		f.globals = append(f.globals, g.Get())
	}
	return f, nil
}

func (s *slot) findGlobals(m *Module) {
	for _, name := range m.globals {
		s.globals = append(s.globals, s.instance.ExportedGlobal(name).(api.MutableGlobal))
	}
}

// cloneSlot makes a slot from the image, without running any of the prelude.
func (x *execution) cloneSlot(f *family) (*slot, error) {
	s, err := x.newSlot()
	if err != nil {
		return nil, err
	}
	s.findGlobals(x.module)
	s.family = f
	err = s.memory.slab.wear(f.image)
	if err == nil && !s.restore() {
		err = errors.New("a new slot could not be made from its image")
	}
	if err != nil {
		s.close(x.module.engine)
		return nil, err
	}
	return s, nil
}

// restore sets the slot back to the image; false means that it must not be
// used any more.
func (s *slot) restore() bool {
	f := s.family
	if !s.memory.slab.restore(f.image) {
		return false
	}
	if memory := s.instance.Memory(); int(memory.Size()) != len(f.image.bytes) {
		// The engine takes the slice that a growth gives as it is, and that
		// may be a shorter one.
		s.memory.exactly = int64(len(f.image.bytes))
		_, ok := memory.Grow(1)
		s.memory.exactly = 0
		if !ok || int(memory.Size()) != len(f.image.bytes) {
			return false
		}
	}
	for i, g := range s.globals {
		g.Set(f.globals[i])
	}
	s.gauge.Set(s.full)
	return true
}

// pristine compares the slot with the image, all of it, and with nothing
// behind it.
func (s *slot) pristine() error {
	f := s.family
	memory, _ := s.instance.Memory().Read(0, s.instance.Memory().Size())
	if !bytes.Equal(memory, f.image.bytes) {
		return errors.New("memory differs from the image")
	}
	if !s.memory.slab.zeroBehind(int64(len(f.image.bytes))) {
		return errors.New("the memory behind the image isn't zero")
	}
	for i, g := range s.globals {
		if g.Get() != f.globals[i] {
			return fmt.Errorf("global %s differs from the image", f.module.globals[i])
		}
	}
	if s.gauge.Get() != s.full {
		return errors.New("the gauge isn't full")
	}
	return nil
}

// imageClock is what the prelude of a family sees: the same for all.
func imageClock(e *Engine) clock { return newClock(e, true) }

// leave takes down what the guest used and gives the slot back, or closes it.
func (x *execution) leave(s *slot, sound bool) {
	if s.gauge != nil {
		x.readGauge(s.gauge)
	}
	if s.family == nil {
		s.close(x.module.engine)
		return
	}
	seen := linearMemory{limit: s.memory.limit, peak: s.memory.peak, denied: s.memory.denied}
	x.memory = &seen // the slot's own is the next attempt's
	x.module.engine.pool.giveBack(s, sound)
}

// goOn gives the attempt a clock of its own, whose monotonic time comes behind
// the image's.
func (x *execution) goOn(f *family) {
	x.clock = newClock(x.module.engine, x.attempt.Kind == abi.KindClassify)
	x.clock.elapsed = f.clock
	x.clock.from = x.started
	x.granted, x.ticks = 0, 0
	x.memory.peak, x.memory.denied = int64(len(f.image.bytes)), false
}

// sound reports whether a guest's end left its instance as any other does. The
// stack that a runaway recursion has grown would stay with its function.
func (x *execution) sound(err error) bool {
	if err == nil || errors.Is(err, errOver) {
		return true
	}
	if u := x.unwoundBy(err); u != nil {
		return u.kind != unwindStack
	}
	if t, ok := trapOf(err); ok {
		return t.text != stackOverflow
	}
	_, ok := asPrelude(err)
	return ok
}
