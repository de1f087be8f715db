package catalog

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// Rules of the catalog's own refusals; those of package host come beside them.
const (
	RuleName     = "catalog.name"
	RuleNoRun    = "catalog.no_run_entry"
	RuleManifest = "catalog.manifest"
)

// Pushed is what became of an upload.
type Pushed struct {
	Name      string
	Version   int // 0 for a dry run that would make a new one
	Report    host.Report
	Manifest  *abi.Manifest // nil: the module doesn't describe itself
	Warnings  []string      // of the report, the manifest and what doesn't fit between them
	CreatedAt time.Time     // of the version; zero for a dry run that would make a new one
	Unchanged bool          // these bytes are the current version already
	DryRun    bool          // nothing was stored
}

// Push judges a module and stores it as the next version of an actor, which
// is current from then on. The same bytes as the current version's change
// nothing. A module that isn't accepted is a *host.Refusal with the rule, and
// leaves no trace.
func (c *Catalog) Push(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	return c.push(ctx, store.Actors, tenant, name, wasm)
}

func (c *Catalog) push(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	p, err := c.judge(ctx, shelf, tenant, name, wasm)
	if err != nil {
		return nil, err
	}
	report, manifest, err := p.encode()
	if err != nil {
		return nil, fmt.Errorf("push %s: %w", name, err)
	}
	digest, err := hex.DecodeString(p.Report.Digest)
	if err != nil {
		return nil, fmt.Errorf("push %s: %w", name, err)
	}
	before := p.Version
	actor, err := c.store.PutModule(ctx, shelf, tenant, name, digest, wasm, report, manifest)
	if err != nil {
		return nil, err
	}
	c.forget(shelf, tenant, name)
	p.Version, p.CreatedAt = actor.Version, actor.CreatedAt
	p.Unchanged = actor.Version == before
	c.log.Info("a module was pushed", "tenant", tenant.Name, string(shelf), name, "version", p.Version, "digest", p.Report.Digest, "unchanged", p.Unchanged)
	return p, nil
}

// DryRun is Push without storing anything.
func (c *Catalog) DryRun(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	return c.dryRun(ctx, store.Actors, tenant, name, wasm)
}

func (c *Catalog) dryRun(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	p, err := c.judge(ctx, shelf, tenant, name, wasm)
	if err != nil {
		return nil, err
	}
	p.DryRun = true
	return p, nil
}

// judge does all of a push that stores nothing. Version and Unchanged are
// those of the current version, if it has the same bytes.
func (c *Catalog) judge(ctx context.Context, shelf store.Shelf, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	if !abi.ValidName(name) {
		return nil, refuse(RuleName, "the %s's name %s", shelf, abi.NameRule)
	}
	module, err := c.engine.Load(ctx, wasm)
	if err != nil {
		return nil, wrap("push", name, err)
	}
	p := &Pushed{Name: name, Report: *module.Report()}
	p.Warnings = slices.Clone(p.Report.Warnings)
	if shelf == store.Classifiers {
		err = classifier.Check(&p.Report)
	} else {
		err = c.judgeActor(ctx, tenant, module, p)
	}
	if err != nil {
		return nil, err
	}
	return p, c.compare(ctx, shelf, tenant, p)
}

// judgeActor looks at what only an actor has: an entry that jobs run, and a
// description that says how.
func (c *Catalog) judgeActor(ctx context.Context, tenant store.Tenant, module *host.Module, p *Pushed) error {
	switch runs, hooks := slices.Contains(p.Report.Entries, string(abi.KindRun)), slices.Contains(p.Report.Entries, string(abi.KindHook)); {
	case !runs && !hooks:
		return refuse(RuleNoRun, "the module can't run jobs: it exports %s, but neither %s nor _start",
			strings.Join(p.Report.Entries, ", "), abi.ExportRun)
	case !runs:
		p.Warnings = append(p.Warnings, "the module runs other actors' hooks only: a job for it would fail")
	}
	var err error
	p.Manifest, err = module.Describe(ctx)
	if err != nil && !errors.Is(err, host.ErrNoManifest) {
		return wrap("push", p.Name, err)
	}
	patch, err := p.checkManifest()
	if err != nil {
		return err
	}
	p.Warnings = append(p.Warnings, c.policyWarnings(tenant, p.Name, patch)...)
	return nil
}

// policyWarnings are those of the policy that the actor's jobs will have in
// the queue that they go to unless told otherwise.
func (c *Catalog) policyWarnings(tenant store.Tenant, name string, says config.Patch) []string {
	if c.config == nil {
		return describedWarnings(says)
	}
	current := c.config.Current()
	queue := current.Tenants[tenant.Name].Actors[name].Queue
	if queue == "" {
		queue = store.DefaultQueue
	}
	return current.RegistrationWarnings(config.Lookup{Tenant: tenant.Name, Queue: queue, Actor: name, Description: says})
}

// compare says whether these bytes are the current version already.
func (c *Catalog) compare(ctx context.Context, shelf store.Shelf, tenant store.Tenant, p *Pushed) error {
	current, err := c.store.Module(ctx, shelf, tenant, p.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if hex.EncodeToString(current.Digest) == p.Report.Digest {
		p.Version, p.CreatedAt, p.Unchanged = current.Version, current.CreatedAt, true
	}
	return nil
}

// checkManifest holds what a module says of itself to the rules that an
// operator's configuration is held to.
func (p *Pushed) checkManifest() (config.Patch, error) {
	if p.Manifest == nil {
		return config.Patch{}, nil
	}
	patch, err := description(p.Manifest)
	if err == nil {
		err = config.CheckPatch("", patch)
	}
	if err != nil {
		return patch, refuse(RuleManifest, "the module's description: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if p.Manifest.Name != "" && p.Manifest.Name != p.Name {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the module calls itself %q; it is pushed as %q", p.Manifest.Name, p.Name))
	}
	for _, capability := range p.Report.Capabilities {
		if !slices.Contains(p.Manifest.Capabilities, capability) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the module's imports need the grant %q, which its description doesn't mention", capability))
		}
	}
	return patch, nil
}

func describedWarnings(patch config.Patch) []string {
	policy := retry.Default()
	if patch.Retry.Kind != nil {
		policy.Kind = *patch.Retry.Kind
	}
	if patch.Retry.TimeBudget != nil {
		policy.TimeBudget = *patch.Retry.TimeBudget
	}
	return policy.Warnings(false)
}

// description is the part of a manifest that is a policy's lowest layer.
func description(m *abi.Manifest) (config.Patch, error) {
	if m == nil {
		return config.Patch{}, nil
	}
	block := map[string]any{}
	if m.StartToClose != "" {
		block["start_to_close"] = m.StartToClose
	}
	patch, err := config.DecodePatch("", block)
	if err != nil {
		return config.Patch{}, err
	}
	if patch.Retry, err = config.DecodeRetryJSON("retry", m.Retry); err != nil {
		return config.Patch{}, err
	}
	patch.Classifiers, err = config.ChainOf("classifiers", m.Classifiers)
	return patch, err
}

func (p *Pushed) encode() (report, manifest json.RawMessage, err error) {
	if report, err = json.Marshal(p.Report); err != nil {
		return nil, nil, err
	}
	if p.Manifest == nil {
		return report, nil, nil
	}
	if manifest, err = json.Marshal(p.Manifest); err != nil {
		return nil, nil, err
	}
	// jsonb refuses what a guest may legally push.
	if manifest, err = abi.RepairJSON(manifest); err != nil {
		return nil, nil, refuse(RuleManifest, "the module's description: %v", err)
	}
	return report, manifest, nil
}

func refuse(rule, format string, args ...any) *host.Refusal {
	return &host.Refusal{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// ErrEngine means that the engine failed at a module through no fault of the
// module's or the store's.
var ErrEngine = errors.New("the engine failed at the module")

// wrap marks the engine's own trouble; a refusal speaks to who uploaded and
// stays as it is.
func wrap(operation, name string, err error) error {
	if refusal := new(host.Refusal); errors.As(err, &refusal) {
		return refusal
	}
	return fmt.Errorf("%s %s: %w: %w", operation, name, ErrEngine, err)
}
