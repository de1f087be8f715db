package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWhatLoadsIsAPolicyForEveryLookup draws small trees of blocks, so that
// queues overlap and each law of the stacks is met, and looks at every
// tenant, queue and actor.
func TestWhatLoadsIsAPolicyForEveryLookup(t *testing.T) {
	t.Parallel()
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		block := func() *policyLayer {
			b := &policyLayer{origin: &origin{at: path{"b"}}}
			if d := rapid.IntRange(0, 6).Draw(t, "base"); d > 0 {
				v := time.Duration(d) * time.Second
				b.Retry.Base = &v
			}
			if d := rapid.IntRange(0, 9).Draw(t, "cap"); d > 2 {
				v := time.Duration(d) * time.Second
				b.Retry.Cap = &v
			}
			return b
		}
		blocks := func(prefix string) map[string]*policyLayer {
			out := map[string]*policyLayer{}
			for i := range 3 {
				if rapid.Bool().Draw(t, "there") {
					out[fmt.Sprint(prefix, i)] = block()
				}
			}
			return out
		}
		c := &Config{layers: layers{defaults: block(), queues: blocks("q"), tenants: map[string]*tenantLayers{
			"t": {defaults: block(), queues: blocks("q"), actors: blocks("a")},
		}}}
		if c.policyProblems() != nil {
			refused++
			return
		}
		for _, tenant := range []string{"t", "other"} {
			for _, queue := range []string{"q0", "q1", "q2", "other"} {
				for _, actor := range []string{"a0", "a1", "a2", "other"} {
					l := Lookup{Tenant: tenant, Queue: queue, Actor: actor}
					require.Empty(t, c.Resolve(l).Adjusted, l)
				}
			}
		}
	})
	require.NotZero(t, refused)
}

func TestABlockIsCheckedOverFewStacksHoweverManyQueuesThereAre(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("queues:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "  q%d: {retry: {base: 6s}}\n", i)
	}
	b.WriteString("tenants:\n  t:\n    defaults: {retry: {cap: 7s}}\n    queues:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "      q%d: {retry: {base: 5s}}\n", i)
	}
	b.WriteString("    actors: {a: {retry: {cap: 8s}}}\n")
	c, blocks := mustLoad(t, b.String()), 0
	c.layers.each(func(_ *policyLayer, stacks [][]*policyLayer) {
		blocks++
		require.LessOrEqual(t, len(stacks), 5, "a file with thousands of both would take minutes")
	})
	require.Equal(t, 1+50+1+50+1, blocks)
}
