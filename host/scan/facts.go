package scan

import "fmt"

// Facts are a module's habits that decide how its instances may be used.
// Instructions are counted wherever they stand, reachable or not.
type Facts struct {
	Instructions int // of all bodies
	Loops        int
	MaxDepth     int // deepest nesting of control structures
	MaxBody      int // bytes of the longest body

	TableSet, TableGrow, TableFill, TableInit, TableCopy int
	ElemDrop, DataDrop                                   int
	MemoryGrow, MemoryInit                               int

	MutableGlobals           int // that the module defines
	MutableV128OrRefGlobals  int // of them, those that a host can't set back
	ImportedMutableGlobals   int
	PassiveData, PassiveElem int // segments
}

// NotPoolable says why an instance of the module can't be set back to its
// first state, one sentence a reason; empty where it can.
func (m *Module) NotPoolable() []string {
	f := &m.Facts
	var why []string
	for _, writes := range []struct {
		n    int
		what string
	}{
		{f.TableSet, "table.set"},
		{f.TableGrow, "table.grow"},
		{f.TableFill, "table.fill"},
		{f.TableInit, "table.init"},
		{f.TableCopy, "table.copy"},
	} {
		if writes.n > 0 {
			why = append(why, fmt.Sprintf("it writes to tables (%s, %d times in its code), and a table can't be restored", writes.what, writes.n))
		}
	}
	if f.DataDrop > 0 {
		why = append(why, fmt.Sprintf("it drops data segments (data.drop, %d times in its code), and a dropped segment can't be restored", f.DataDrop))
	}
	if f.ElemDrop > 0 {
		why = append(why, fmt.Sprintf("it drops element segments (elem.drop, %d times in its code), and a dropped segment can't be restored", f.ElemDrop))
	}
	if f.MutableV128OrRefGlobals > 0 {
		why = append(why, fmt.Sprintf("it has %d mutable globals of type v128 or of a reference type, and these can't be restored", f.MutableV128OrRefGlobals))
	}
	if f.ImportedMutableGlobals > 0 {
		why = append(why, fmt.Sprintf("it imports %d mutable globals, which it shares with others", f.ImportedMutableGlobals))
	}
	return why
}
