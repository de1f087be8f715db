package classifier

import (
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	maxRemembered       = 4_096
	maxRememberedAnswer = 4 << 10
)

// Cache remembers answers by module and record. It is safe for concurrent use.
type Cache struct {
	answers *lru.Cache[[sha256.Size]byte, []byte]
}

// NewCache makes an empty one, which holds at most 16 MiB.
func NewCache() *Cache {
	answers, err := lru.New[[sha256.Size]byte, []byte](maxRemembered)
	if err != nil {
		panic("sandbox: " + err.Error()) // the size is a constant
	}
	return &Cache{answers: answers}
}

// keyOf is of fixed length for the digest, so no two pairs have one key.
func keyOf(digest string, record []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(digest))
	h.Write(record)
	return [sha256.Size]byte(h.Sum(nil))
}

// get gives an answer; nil is one too: no opinion. A nil cache knows none.
func (c *Cache) get(key [sha256.Size]byte) (answer []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	return c.answers.Get(key)
}

func (c *Cache) add(key [sha256.Size]byte, answer []byte) {
	if c != nil && len(answer) <= maxRememberedAnswer {
		c.answers.Add(key, answer)
	}
}
