package host

import (
	"encoding/json"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/abi"
)

// stage is where an execution stands; imports are offered by stage.
type stage uint8

const (
	stageInit     stage = 1 << iota // start section, _initialize, warm: no attempt yet
	stageRun                        // an actor, command mode included
	stageHook                       // hooks and payload factories: an attempt's facts, no deferral
	stageClassify                   // a pure function of its input
	stageDescribe                   // at upload: no attempt at all
)

const (
	anyStage     = stageInit | stageRun | stageHook | stageClassify | stageDescribe
	impureStages = stageInit | stageRun | stageHook | stageDescribe
)

func stageOf(kind abi.Kind) stage {
	switch kind {
	case abi.KindClassify:
		return stageClassify
	case abi.KindDescribe:
		return stageDescribe
	case abi.KindHook, abi.KindCron:
		return stageHook
	}
	return stageRun
}

// execution is one attempt while it runs, and the state behind its imports.
// It belongs to the goroutine of Module.Run; only its ending is shared.
type execution struct {
	ending

	module  *Module
	attempt *Attempt
	limits  Limits
	clock   clock
	started time.Time
	memory  *linearMemory
	slot    *slot

	instance api.Module    // nil until it's made
	entered  bool          // the entry was called
	startup  time.Duration // until then

	stage   stage
	calling string // the import being called, for messages
	calls   int64  // host calls
	ticks   int64
	granted int64 // fuel
	fuel    int64 // used of it
	unwound unwind

	meta    []byte // encoded at the first meta_read
	output  []byte
	pushed  bool         // something was pushed, if only nothing
	failure *abi.Failure // the last one recorded
	outcome *abi.Control // the last outcome line of a command

	stdin      []byte // what is left of it
	stdout     stream
	stderr     stream
	collected  []byte // a command's stdout, which is its result
	overflowed bool   // it was longer than the limit

	logs       logMeter
	progressed progressMeter
	warnings   []string
}

func (x *execution) warn(text string) { x.warnings = append(x.warnings, text) }

func (x *execution) now() time.Time { return x.clock.now() }

// command reports whether the module is entered by _start.
func (x *execution) command() bool { return x.module.report.Mode == abi.Command }

// enter is the beginning of every host call: a guest whose attempt is over
// gets no further than here.
func (x *execution) enter(name string) {
	x.stopIfOver()
	x.calling = name
	x.calls++
	if x.calls > x.limits.HostCalls {
		x.unwind(unwind{kind: unwindHostCalls})
	}
}

// stopIfOver unwinds a guest whose attempt has timed out or was stopped.
func (x *execution) stopIfOver() {
	if x.over() {
		x.unwind(unwind{kind: unwindEnded})
	}
}

// read gives a view of the guest's memory that holds until the next growth;
// whoever keeps it copies it. Outside of memory the attempt ends.
func (x *execution) read(mem api.Memory, ptr, size uint64) []byte {
	if uint32(size) == 0 {
		return nil // a pointer to nothing may be anything
	}
	p, ok := mem.Read(uint32(ptr), uint32(size))
	if !ok {
		x.violation("%d bytes at %d lie outside of the memory of %d bytes", uint32(size), uint32(ptr), mem.Size())
	}
	return p
}

// answer copies what fits into the guest's buffer and gives the full length.
func (x *execution) answer(mem api.Memory, ptr, capacity uint64, what []byte) uint64 {
	copy(x.read(mem, ptr, capacity), what)
	return uint64(uint32(len(what)))
}

func code(c abi.Code) uint64 { return uint64(uint32(c)) }

func (x *execution) push(p []byte) {
	if len(p) > x.limits.Result-len(x.output) {
		x.unwind(unwind{kind: unwindResultTooLarge})
	}
	x.pushed = true
	x.output = append(x.output, p...)
}

func (x *execution) metaJSON() []byte {
	if x.meta == nil {
		meta := x.attempt.Meta
		meta.Kind = x.attempt.Kind
		raw, err := json.Marshal(meta)
		if err != nil {
			panic("meta: " + err.Error()) // its config isn't JSON: the caller's bug
		}
		x.meta = raw
	}
	return x.meta
}

// recordFailure keeps the last failure that the guest reported.
func (x *execution) recordFailure(record []byte) error {
	f, err := abi.ParseFailure(record)
	if err != nil {
		return err
	}
	f.Origin = abi.OriginGuest
	x.failure = f
	return nil
}
