package rewrite

import (
	"errors"
	"fmt"

	"github.com/taskq-host/taskq-host/host/scan"
)

// maxPages is what 32 bits can address, in pages of 64 KiB.
const maxPages = 1 << 16

// Options bound what a rewritten module may grow to.
type Options struct {
	MemoryMaxPages uint32 // pages of 64 KiB, 1 to 65536
	TableMax       uint32 // entries of each table, at least 1

	// Stack is the room for calls, in bytes of the engine's stack as estimated
	// from the functions' sizes: 64 to MaxStack. For Fuel alone.
	Stack int64
}

// check holds the options against themselves and the module. A module that
// begins with more than it may grow to gets a [*scan.Refusal].
func (o Options) check(wasm []byte, m *scan.Module) error {
	switch {
	case m == nil || m.Size != len(wasm):
		return errors.New("rewrite: m must be the scan of these bytes")
	case o.MemoryMaxPages < 1 || o.MemoryMaxPages > maxPages:
		return fmt.Errorf("rewrite: MemoryMaxPages must be 1 to %d, not %d", maxPages, o.MemoryMaxPages)
	case o.TableMax < 1:
		return errors.New("rewrite: TableMax must be at least 1")
	}
	for _, mem := range m.Memories[m.ImportedMemories:] {
		if mem.Min > o.MemoryMaxPages {
			return &scan.Refusal{
				Rule:    scan.RuleMemory,
				Message: fmt.Sprintf("its memory begins with %d pages of 64 KiB, but the limit is %d", mem.Min, o.MemoryMaxPages),
			}
		}
	}
	for _, table := range m.Tables[m.ImportedTables:] {
		if table.Min > o.TableMax {
			return &scan.Refusal{
				Rule:    scan.RuleTableEntries,
				Message: fmt.Sprintf("a table begins with %d entries, but the limit is %d", table.Min, o.TableMax),
			}
		}
	}
	return nil
}
