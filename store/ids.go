package store

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// ID names a job, a lease or a worker. Job ids are UUIDv7: their order is the
// order of their making.
type ID = uuid.UUID

// NewID makes a UUIDv7.
func NewID() ID {
	id, err := uuid.NewV7()
	if err != nil { // the system has no randomness: nothing can go on
		panic(fmt.Sprintf("store: no randomness for an id: %v", err))
	}
	return id
}

// ParseID reads the canonical text of an id.
func ParseID(s string) (ID, error) {
	if len(s) != 36 {
		return ID{}, fmt.Errorf("%q is not an id: want 36 characters like 01890a5d-ac96-774b-bcce-b302099a8057", s)
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return ID{}, fmt.Errorf("%q is not an id: want 36 characters like 01890a5d-ac96-774b-bcce-b302099a8057", s)
	}
	return id, nil
}

// pgx encodes a google UUID through its text; these take the bytes as they are.

func pgID(id ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func pgIDs(ids []ID) pgtype.FlatArray[pgtype.UUID] {
	out := make(pgtype.FlatArray[pgtype.UUID], len(ids))
	for i, id := range ids {
		out[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return out
}
