package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// maxKept is how many names of modules are remembered, of all tenants: known
// ones and such as were asked for in vain.
const maxKept = 20_000

// Catalog is the actors of all tenants. It is safe for use by many goroutines
// and owns none.
type Catalog struct {
	store  *store.Store
	engine *host.Engine
	log    hclog.Logger
	clock  func() time.Time
	config *config.Live

	kept     *lru.Cache[key, *entry]
	asking   singleflight.Group // for current versions
	fetching singleflight.Group // of modules' bytes
}

// New makes a catalog over a store and an engine, which stay the caller's. A
// nil logger logs nothing.
func New(s *store.Store, e *host.Engine, log hclog.Logger) (*Catalog, error) {
	if s == nil || e == nil {
		return nil, errors.New("catalog: a store and an engine are needed")
	}
	if log == nil {
		log = hclog.NewNullLogger()
	}
	kept, err := lru.New[key, *entry](maxKept)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return &Catalog{store: s, engine: e, log: log.Named("catalog"), clock: time.Now, kept: kept}, nil
}

// WarnBy makes pushes warn of what may surprise under the policy that the
// configuration gives an actor's jobs. It must be called before the first use.
func (c *Catalog) WarnBy(live *config.Live) { c.config = live }

// List gives a tenant's actors by name, each with its current version.
func (c *Catalog) List(ctx context.Context, tenant store.Tenant) ([]store.Actor, error) {
	return c.store.Actors(ctx, tenant)
}

// Show gives an actor's current version; [store.ErrNotFound] if the tenant has
// no such actor.
func (c *Catalog) Show(ctx context.Context, tenant store.Tenant, name string) (*store.Actor, error) {
	return c.store.Actor(ctx, tenant, name)
}

// Delete removes an actor with all its versions; [store.ErrNotFound] if the
// tenant has no such actor. Other processes go on running it for the second
// that their answer may be stale.
func (c *Catalog) Delete(ctx context.Context, tenant store.Tenant, name string) error {
	return c.remove(ctx, store.Actors, tenant, name)
}

func (c *Catalog) remove(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string) error {
	defer c.forget(shelf, tenant, name)
	if err := c.store.DeleteModule(ctx, shelf, tenant, name); err != nil {
		return err
	}
	c.log.Info("a module was deleted", "tenant", tenant.Name, string(shelf), name)
	return nil
}
