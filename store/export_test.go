package store

import "time"

// ClaimSQL is the claim's statement, for tests that look at its plan.
const ClaimSQL = claimSQL

// ClaimFromFloorsSQL is the same from where claims stopped.
const ClaimFromFloorsSQL = claimFromFloorsSQL

// UseFloors makes the claims of a queue begin where they stopped for so long,
// as if the last one had been slow.
func (s *Store) UseFloors(shard int16, queue int32, d time.Duration) {
	f := s.floorsOf(shard, queue)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Now().Add(d)
}

// MembersSQL is what a reclaim reads.
const MembersSQL = membersSQL
