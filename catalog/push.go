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
	p, err := c.judge(ctx, tenant, name, wasm)
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
	actor, err := c.store.PutActor(ctx, tenant, name, digest, wasm, report, manifest)
	if err != nil {
		return nil, err
	}
	c.forget(tenant, name)
	p.Version, p.CreatedAt = actor.Version, actor.CreatedAt
	p.Unchanged = actor.Version == before
	c.log.Info("an actor was pushed", "tenant", tenant.Name, "actor", name, "version", p.Version, "digest", p.Report.Digest, "unchanged", p.Unchanged)
	return p, nil
}

// DryRun is Push without storing anything.
func (c *Catalog) DryRun(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	p, err := c.judge(ctx, tenant, name, wasm)
	if err != nil {
		return nil, err
	}
	p.DryRun = true
	return p, nil
}

// judge does all of a push that stores nothing. Version and Unchanged are
// those of the current version, if it has the same bytes.
func (c *Catalog) judge(ctx context.Context, tenant store.Tenant, name string, wasm []byte) (*Pushed, error) {
	if !abi.ValidName(name) {
		return nil, refuse(RuleName, "the actor's name %s", abi.NameRule)
	}
	module, err := c.engine.Load(ctx, wasm)
	if err != nil {
		return nil, wrap("push", name, err)
	}
	p := &Pushed{Name: name, Report: *module.Report()}
	p.Warnings = slices.Clone(p.Report.Warnings)
	if !slices.Contains(p.Report.Entries, string(abi.KindRun)) {
		return nil, refuse(RuleNoRun, "the module can't run jobs: it exports %s, but neither %s nor _start",
			strings.Join(p.Report.Entries, ", "), abi.ExportRun)
	}
	p.Manifest, err = module.Describe(ctx)
	if err != nil && !errors.Is(err, host.ErrNoManifest) {
		return nil, wrap("push", name, err)
	}
	if err := p.checkManifest(); err != nil {
		return nil, err
	}
	current, err := c.store.Actor(ctx, tenant, name)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if hex.EncodeToString(current.Digest) == p.Report.Digest {
		p.Version, p.CreatedAt, p.Unchanged = current.Version, current.CreatedAt, true
	}
	return p, nil
}

// checkManifest holds what a module says of itself to the rules that an
// operator's configuration is held to.
func (p *Pushed) checkManifest() error {
	if p.Manifest == nil {
		return nil
	}
	patch, err := description(p.Manifest)
	if err == nil {
		err = config.CheckPatch("", patch)
	}
	if err != nil {
		return refuse(RuleManifest, "the module's description: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if p.Manifest.Name != "" && p.Manifest.Name != p.Name {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the module calls itself %q; it is pushed as %q", p.Manifest.Name, p.Name))
	}
	for _, capability := range p.Report.Capabilities {
		if !slices.Contains(p.Manifest.Capabilities, capability) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the module's imports need the grant %q, which its description doesn't mention", capability))
		}
	}
	p.Warnings = append(p.Warnings, describedWarnings(patch)...)
	return nil
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
