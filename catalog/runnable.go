package catalog

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

const (
	// staleness is how old an answer about a current version may be: a push is
	// seen by every worker within it.
	staleness = time.Second
	// patience bounds one question to the store, which others wait for too.
	patience = 10 * time.Second
)

// Runnable is an actor's version, ready to run.
type Runnable struct {
	Name        string
	Version     int
	Digest      string // hex
	Module      *host.Module
	Manifest    *abi.Manifest // nil: the module doesn't describe itself
	Description config.Patch  // of the manifest: the lowest layer of the actor's policy
}

// ResultContentType is what the actor declared; empty means that it didn't.
func (r *Runnable) ResultContentType() string {
	if r.Manifest == nil {
		return ""
	}
	return r.Manifest.ResultContentType
}

type key struct {
	shelf  store.Shelf
	tenant int32
	name   string
}

func (k key) String() string {
	return string(k.shelf) + "/" + strconv.Itoa(int(k.tenant)) + "/" + k.name
}

// entry is what is known of a name: an actor's current version, or nothing.
type entry struct {
	asked       time.Time
	version     int // 0: the tenant has no such actor
	digest      string
	manifest    *abi.Manifest
	description config.Patch
}

// Runnable gives the version of an actor that runs a job now, at most a second
// stale: the current one, also where the job was made for another, because
// what handler.version_mismatch says by default is run-latest and this release
// knows nothing else. An actor that the tenant doesn't have is
// [store.ErrNotFound]. A module that can't be loaded any more is a
// *host.Refusal (the host was given other limits since) or the host's trouble.
func (c *Catalog) Runnable(ctx context.Context, tenant store.Tenant, name string, _ int) (*Runnable, error) {
	return c.loaded(ctx, store.Actors, tenant, name)
}

// loaded gives a name's current version with its module.
func (c *Catalog) loaded(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string) (*Runnable, error) {
	r, err := c.runnable(ctx, shelf, tenant, name)
	if errors.Is(err, errModuleGone) {
		// The name was deleted, and perhaps pushed anew, since we last asked.
		c.forget(shelf, tenant, name)
		r, err = c.runnable(ctx, shelf, tenant, name)
	}
	return r, err
}

func (c *Catalog) runnable(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string) (*Runnable, error) {
	e, err := c.current(ctx, shelf, tenant, name)
	if err != nil {
		return nil, err
	}
	if e.version == 0 {
		return nil, fmt.Errorf("%s %q: %w", shelf, name, store.ErrNotFound)
	}
	module, err := c.module(ctx, e.digest)
	if err != nil {
		return nil, err
	}
	return &Runnable{Name: name, Version: e.version, Digest: e.digest, Module: module, Manifest: e.manifest, Description: e.description}, nil
}

// Description is what an actor says of its own policy: the lowest layer. One
// that the tenant doesn't have says nothing.
func (c *Catalog) Description(ctx context.Context, tenant store.Tenant, name string) (config.Patch, error) {
	e, err := c.current(ctx, store.Actors, tenant, name)
	if err != nil {
		return config.Patch{}, err
	}
	return e.description, nil
}

// current answers from memory for as long as the answer may be stale. Whoever
// comes later waits for one question to the store. If that fails, an older
// answer about an actor goes on: its jobs are claimed, so its attempts may as
// well be made.
func (c *Catalog) current(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string) (*entry, error) {
	k := key{shelf, tenant.ID, name}
	old, known := c.kept.Get(k)
	if known && c.clock().Sub(old.asked) < staleness {
		return old, nil
	}
	v, err, _ := c.asking.Do(k.String(), func() (any, error) {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return c.ask(asking, tenant, k)
	})
	if err == nil {
		return v.(*entry), nil
	}
	if known && old.version > 0 && store.Unreachable(err) {
		c.log.Warn("a module's current version can't be asked for; the last known one goes on", "tenant", tenant.Name, string(shelf), name, "version", old.version, "error", err)
		return old, nil
	}
	return nil, err
}

func (c *Catalog) ask(ctx context.Context, tenant store.Tenant, k key) (*entry, error) {
	e := &entry{asked: c.clock()}
	actor, err := c.store.Module(ctx, k.shelf, tenant, k.name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		c.kept.Add(k, e)
		return e, nil
	case err != nil:
		return nil, err
	}
	e.version, e.digest = actor.Version, hex.EncodeToString(actor.Digest)
	if len(actor.Manifest) > 0 {
		if err := json.Unmarshal(actor.Manifest, &e.manifest); err != nil {
			return nil, fmt.Errorf("%s %q: its manifest: %w", k.shelf, k.name, err)
		}
	}
	// It was checked at the push, by a release whose rules may have been others.
	if e.description, err = description(e.manifest); err != nil {
		c.log.Warn("a module's description is ignored", "tenant", tenant.Name, string(k.shelf), k.name, "version", e.version, "error", err)
		e.description = config.Patch{}
	}
	c.kept.Add(k, e)
	return e, nil
}

// errModuleGone means that the store has no such module: an answer that led
// here was stale.
var errModuleGone = errors.New("the module was deleted a moment ago")

// module finds a loaded module, or fetches its bytes, once for all who wait,
// and has the engine load them, which does the same.
func (c *Catalog) module(ctx context.Context, digest string) (*host.Module, error) {
	if m, ok := c.engine.Cached(digest); ok {
		return m, nil
	}
	v, err, _ := c.fetching.Do(digest, func() (any, error) {
		sum, err := hex.DecodeString(digest)
		if err != nil {
			return nil, fmt.Errorf("digest: %w", err)
		}
		// Detached from the first caller: its end is no reason to fail the rest.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		wasm, err := c.store.ModuleBytes(asking, sum)
		if errors.Is(err, store.ErrNotFound) {
			return nil, errModuleGone
		}
		return wasm, err
	})
	if err != nil {
		return nil, err
	}
	m, err := c.engine.Load(ctx, v.([]byte))
	if err != nil {
		return nil, wrap("load", digest, err)
	}
	return m, nil
}

// forget drops what is known of a name, because this process changed it.
func (c *Catalog) forget(shelf store.Shelf, tenant store.Tenant, name string) {
	k := key{shelf, tenant.ID, name}
	c.asking.Forget(k.String())
	c.kept.Remove(k)
}
