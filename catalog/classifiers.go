package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// Classifiers are pushed, listed and deleted as actors are, under names of
// their own. [store.Platform]'s are everybody's.

// PushClassifier judges a module and stores it as the next version of a
// classifier, as [Catalog.Push] does for actors.
func (c *Catalog) PushClassifier(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	return c.push(ctx, store.Classifiers, tenant, name, wasm)
}

// DryRunClassifier is PushClassifier without storing anything.
func (c *Catalog) DryRunClassifier(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	return c.dryRun(ctx, store.Classifiers, tenant, name, wasm)
}

// ListClassifiers gives a tenant's classifiers by name.
func (c *Catalog) ListClassifiers(ctx context.Context, tenant store.Tenant) ([]store.Actor, error) {
	return c.store.Modules(ctx, store.Classifiers, tenant)
}

// ShowClassifier gives a classifier's current version; [store.ErrNotFound] if
// the tenant has no such classifier.
func (c *Catalog) ShowClassifier(ctx context.Context, tenant store.Tenant, name string) (*store.Actor, error) {
	return c.store.Module(ctx, store.Classifiers, tenant, name)
}

// DeleteClassifier removes a classifier with all its versions;
// [store.ErrNotFound] if the tenant has no such classifier. Chains that name
// it skip it from then on.
func (c *Catalog) DeleteClassifier(ctx context.Context, tenant store.Tenant, name string) error {
	return c.remove(ctx, store.Classifiers, tenant, name)
}

const sharedPrefix = "shared/"

// Classifier gives the module that a tenant's chain refers to, at most a
// second stale: a name is the tenant's own, shared/name the platform's. One
// that isn't there is [classify.ErrMissing].
func (c *Catalog) Classifier(ctx context.Context, tenant store.Tenant, reference string) (*host.Module, error) {
	owner := tenant
	name, shared := strings.CutPrefix(reference, sharedPrefix)
	if shared {
		owner = store.Platform
	}
	r, err := c.loaded(ctx, store.Classifiers, owner, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w", reference, classify.ErrMissing)
	}
	if err != nil {
		return nil, err
	}
	return r.Module, nil
}
