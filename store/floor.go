package store

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// While somebody holds a transaction open, the rows that claims delete stay in
// the index, and every claim walks over all of them to the first live one: its
// cost grows with what was claimed since. A claimer knows how far it got. So
// once a claim was slow, the next ones go straight to where each lane's claims
// stopped, and only now and then one looks at everything again: for lanes that
// are new, and for rows that committed late below the floor. Claims that look
// at everything get a tenth of the time, however slow they are.
const (
	slowClaim  = 10 * time.Millisecond
	floorsFor  = 10 // times as long as the slow claim took
	mostFloors = 4  // lanes; with more, each has fewer dead rows
	priorities = 10 // priorities are 0..9
)

// lane is a tenant's lane of a queue.
type lane struct {
	tenant int32
	id     int64
}

// floors are where the claims of one queue stopped, for each lane and priority.
type floors struct {
	mu    sync.Mutex
	lanes map[lane]*[priorities]int64
	until time.Time // then everything is looked at again
}

// floorRows are floors as a statement takes them, sorted.
type floorRows struct {
	tenants    []int32
	lanes      []int64
	priorities []int16
	seqs       []int64
	count      int // of lanes
}

// use answers the floors for a claim now, or none if it must look at everything.
func (f *floors) use(now time.Time) (rows floorRows, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(f.until) || len(f.lanes) == 0 {
		return rows, false
	}
	sorted := make([]lane, 0, len(f.lanes))
	for l := range f.lanes {
		sorted = append(sorted, l)
	}
	slices.SortFunc(sorted, func(a, b lane) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.id, b.id)) })
	for _, l := range sorted {
		for p, seq := range f.lanes[l] {
			rows.tenants, rows.lanes = append(rows.tenants, l.tenant), append(rows.lanes, l.id)
			rows.priorities, rows.seqs = append(rows.priorities, int16(p)), append(rows.seqs, seq)
		}
	}
	rows.count = len(sorted)
	return rows, true
}

// claimedRow is where a claimed job stood.
type claimedRow struct {
	lane
	priority int
	seq      int64
}

// whole notes what a claim found that looked at everything.
func (f *floors) whole(now time.Time, took time.Duration, rows []claimedRow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.lanes
	f.lanes, f.until = map[lane]*[priorities]int64{}, time.Time{}
	for _, r := range rows {
		at := f.lanes[r.lane]
		if at == nil {
			if at = before[r.lane]; at == nil {
				at = new([priorities]int64)
			}
			f.lanes[r.lane] = at
		}
		at[r.priority] = r.seq + 1 // in order: the last one counts
	}
	if took >= slowClaim && len(f.lanes) <= mostFloors {
		f.until = now.Add(floorsFor * took)
	}
}

// further notes what a claim took that began at the floors; one that didn't
// fill its batch makes the next look at everything.
func (f *floors) further(rows []claimedRow, limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rows {
		if at := f.lanes[r.lane]; at != nil {
			at[r.priority] = max(at[r.priority], r.seq+1)
		}
	}
	if len(rows) < limit {
		f.until = time.Time{}
	}
}

// floorsOf is shared by all claims of a queue in this process.
func (s *Store) floorsOf(shard int16, queue int32) *floors {
	f, _ := s.floors.LoadOrStore([2]int32{int32(shard), queue}, &floors{})
	return f.(*floors)
}
