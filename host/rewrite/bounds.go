package rewrite

import "github.com/taskq-host/taskq-host/host/scan"

// clamp gives a declared maximum, or the limit where none or a higher one was
// declared.
func clamp(declared uint32, has bool, limit uint32) uint32 {
	if !has {
		return limit
	}
	return min(declared, limit)
}

// tables is the content of the table section, each table with a maximum.
// Imported tables are left as they are: whoever provides one bounds it.
func tables(m *scan.Module, limit uint32) []byte {
	var out output
	own := m.Tables[m.ImportedTables:]
	out.u32(uint32(len(own)))
	for _, t := range own {
		out = append(out, byte(t.Elem))
		out.bounds(t.Min, clamp(t.Max, t.HasMax, limit))
	}
	return out
}

// memories is the content of the memory section, the memory with a maximum.
func memories(m *scan.Module, limit uint32) []byte {
	var out output
	own := m.Memories[m.ImportedMemories:]
	out.u32(uint32(len(own)))
	for _, mem := range own {
		out.bounds(mem.Min, clamp(mem.Max, mem.HasMax, limit))
	}
	return out
}
