package catalog_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

func TestAClassifierIsTheTenantsOwnOrThePlatforms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	b.SetClock(func() time.Time { return now })
	_, err := b.Classifier(b.ctx, b.tenant, "partner")
	require.ErrorIs(t, err, classify.ErrMissing)

	own, err := b.PushClassifier(b.ctx, b.tenant, "partner", fixture(t, "classify"))
	require.NoError(t, err)
	require.Equal(t, 1, own.Version)
	again, err := b.PushClassifier(b.ctx, b.tenant, "partner", fixture(t, "classify"))
	require.NoError(t, err)
	require.True(t, again.Unchanged)
	m, err := b.Classifier(b.ctx, b.tenant, "partner")
	require.NoError(t, err, "the push made this process forget")
	require.Equal(t, own.Report.Digest, m.Report().Digest)

	_, err = b.Classifier(b.ctx, b.tenant, "shared/partner")
	require.ErrorIs(t, err, classify.ErrMissing, "a tenant's is nobody else's")
	_, err = b.PushClassifier(b.ctx, store.Platform, "partner", fixture(t, "classify"))
	require.NoError(t, err)
	_, err = b.Classifier(b.ctx, store.Tenant{ID: 7, Name: "other"}, "shared/partner")
	require.NoError(t, err)
	_, err = b.Runnable(b.ctx, b.tenant, "partner", 0)
	require.ErrorIs(t, err, store.ErrNotFound, "a classifier is no actor")

	list, err := b.ListClassifiers(b.ctx, b.tenant)
	require.NoError(t, err)
	require.Len(t, list, 1)
	shown, err := b.ShowClassifier(b.ctx, b.tenant, "partner")
	require.NoError(t, err)
	require.Equal(t, "partner", shown.Name)
	require.NoError(t, b.DeleteClassifier(b.ctx, b.tenant, "partner"))
	_, err = b.Classifier(b.ctx, b.tenant, "partner")
	require.ErrorIs(t, err, classify.ErrMissing)
}

func TestAClassifierThatWantsMoreThanItsInputIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for module, rule := range map[string]string{"pure": classifier.RuleImport, "noop": classifier.RuleNoEntry} {
		_, err := b.DryRunClassifier(b.ctx, b.tenant, "x", fixture(t, module))
		refusal := new(host.Refusal)
		require.True(t, errors.As(err, &refusal), module)
		require.Equal(t, rule, refusal.Rule)
	}
	_, err := b.PushClassifier(b.ctx, b.tenant, "Not A Name", fixture(t, "classify"))
	require.Error(t, err)
	p, err := b.DryRunClassifier(b.ctx, b.tenant, "x", fixture(t, "classify"))
	require.NoError(t, err)
	require.True(t, p.DryRun)
	_, err = b.ShowClassifier(b.ctx, b.tenant, "x")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAPushWarnsOfWhatMaySurpriseUnderTheActorsPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(t.TempDir(), "taskq.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
defaults: {classifiers: ["builtin:rate_limit_aware"]}
tenants: {default: {actors: {charge: {retry: {kind: non_retryable}, retry_on: [A], non_retryable_errors: [B]}}}}
`), 0o600))
	live, err := config.Open(config.Sources{Files: []string{file}}, nil)
	require.NoError(t, err)
	b.WarnBy(live)
	p := b.push("charge", "noop")
	require.Equal(t, []string{
		"retry_on and non_retryable_errors are both set: retry_on alone counts",
		"builtin:rate_limit_aware may answer indefinite and there is no time_budget: a job without a deadline is retried for ever",
		"builtin:rate_limit_aware may make this non_retryable actor retry",
	}, p.Warnings)
}

func TestAModuleThatOnlyHasHooksIsAnActorWithAWarning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Len(t, b.push("alert", "hook-breaks").Warnings, 1)
	_, err := b.Push(b.ctx, b.tenant, "x", fixture(t, "classify"))
	refusal := new(host.Refusal)
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, catalog.RuleNoRun, refusal.Rule)
}
