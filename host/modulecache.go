package host

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// moduleCache keeps the modules that were used last, by digest. Unlike the
// library's own locked cache it holds on to nothing that it has dropped, so
// that the module can be freed.
type moduleCache struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, *Module]
}

// newModuleCache calls dropped with each module that leaves the cache.
func newModuleCache(size int, dropped func(*Module)) (*moduleCache, error) {
	c, err := simplelru.NewLRU(size, func(_ string, m *Module) { dropped(m) })
	return &moduleCache{lru: c}, err
}

// Get finds a module, which counts as using it.
func (c *moduleCache) Get(digest string) (*Module, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(digest)
}

// Add keeps a module, and may drop another one.
func (c *moduleCache) Add(digest string, m *Module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Add(digest, m)
}

// Purge drops all.
func (c *moduleCache) Purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Purge()
}
