package flow_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func newRegistry(t *testing.T, text string) *registry.Registry {
	t.Helper()
	c, err := registry.Parse(text)
	require.NoError(t, err)
	r, err := registry.New(c)
	require.NoError(t, err)
	return r
}

// A batch of flows and a node inside it may not have one key, however each of
// them came by its limiter, and however deep the node is.
func TestABatchMayNotHaveTheKeyOfANodeInside(t *testing.T) {
	nothing := func(context.Context, *job) error { return nil }
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	with := func(l *adaptive.Limiter) node.Node[*job] { return node.Do("inside", nothing).WithLimiter(l) }
	reg := newRegistry(t, "openai: 4 concurrent; ols: 2/s; crawl: 1/s")
	other := newRegistry(t, "openai: 4 concurrent")
	given, err := reg.GetOrCreate("given", adaptive.Config{})
	require.NoError(t, err)

	replaced := reg.Get("crawl")
	_, err = reg.Replace("crawl", adaptive.Config{Limits: throttle.Limits{Concurrency: 3}})
	require.NoError(t, err)
	removed := reg.Get("ols")
	require.True(t, reg.Remove("ols"))

	for name, tc := range map[string]struct {
		outer *adaptive.Limiter
		inner node.Node[*job]
		key   string // of both; empty: they may
	}{
		"one name":                  {reg.Get("openai"), with(reg.Get("openai")), "openai"},
		"one name in another case":  {reg.Get("openai"), with(reg.Get(" OpenAI ")), "openai"},
		"a host of the service":     {reg.Get("openai"), with(reg.For("OPENAI", "api.openai.com")), "openai"},
		"the service of a template": {reg.For("bioportal", "a.example"), with(reg.For("bioportal", "b.example")), "bioportal"},
		"got and created":           {given, with(reg.Get("Given")), "given"},
		"replaced in between":       {replaced, with(reg.Get("crawl")), "crawl"},
		"a batch inside": {
			reg.Get("openai"),
			node.BatchFunc("batch", func(context.Context, *job) (iter.Seq2[int, error], error) { return node.Slice[int](nil), nil }, same, nil).
				WithLimiter(reg.Get("OPENAI")),
			"openai",
		},
		"behind another step, in a flow": {
			reg.Get("openai"), flow.New[*job]("deeper", node.Do("first", nothing)).Then(flow.New("deep", with(reg.Get("openai")))), "openai",
		},
		"in a batch of flows inside": {
			reg.Get("openai"), flow.Batch("batch of flows", of[*job, job](), with(reg.Get("openai")), nil), "openai",
		},
		"two names":                      {reg.Get("openai"), with(given), ""},
		"one name of two registries":     {reg.Get("openai"), with(other.Get("openai")), ""},
		"one name, removed and anew":     {removed, with(reg.For("ols", "")), ""},
		"a limiter of the node's own":    {reg.Get("openai"), node.Do("inside", nothing).WithPreset(presets.OpenAITier1), ""},
		"one that nobody handed to both": {reg.Get("openai"), node.Do("inside", nothing), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := flow.Batch("outer", of[*trail, job](job{}), tc.inner, nil).WithLimiter(tc.outer)
			f := flow.New[*trail]("f", b)
			_, failed := f.Run(t.Context(), &trail{})
			if tc.key == "" {
				assert.NoError(t, b.Validate())
				assert.NoError(t, failed)
				return
			}
			for _, err := range []error{b.Validate(), f.Validate(), failed} {
				assert.Equal(t, []string{"WithLimiter"}, fields(err))
				assert.ErrorContains(t, err, `node "outer": WithLimiter: a node inside uses the limiter "`+tc.key+`" too`)
			}
		})
	}
}

// The limiter that a batch was made is handed to a node inside.
func TestABatchMayNotGiveItsOwnLimiterToANodeInside(t *testing.T) {
	ran := errors.New("it ran")
	inside := node.Do("inside", func(context.Context, *job) error { return ran })
	for name, set := range map[string]func(b *node.Batch[*trail, job, job]){
		"limits": func(b *node.Batch[*trail, job, job]) { b.WithLimits(throttle.Limits{Concurrency: 2}) },
		"preset": func(b *node.Batch[*trail, job, job]) { b.WithPreset(presets.FlowConservative) },
	} {
		t.Run(name, func(t *testing.T) {
			b := flow.Batch("outer", of[*trail, job](job{}), inside, nil)
			set(b)
			require.NoError(t, b.Validate())
			own, err := b.Limiter()
			require.NoError(t, err)
			inside.WithLimiter(own)
			require.Equal(t, []string{"WithLimiter"}, fields(b.Validate()))
			_, err = b.Run(t.Context(), &trail{})
			require.Equal(t, []string{"WithLimiter"}, fields(err))
			require.NotErrorIs(t, err, ran)
		})
	}
}

// Nodes side by side share a key as a matter of course.
func TestNodesSideBySideMayHaveOneKey(t *testing.T) {
	reg := newRegistry(t, "openai: 1 concurrent")
	step := func(name string) *node.Step[*trail] {
		return node.Do(name, func(_ context.Context, s *trail) error {
			s.names = append(s.names, name)
			return nil
		}).WithLimiter(reg.Get("openai"))
	}
	f := flow.New("f", step("a")).Then(step("b")).Then(step("c"))
	require.NoError(t, f.Validate())
	requireTrail(t, f, node.Next, "a", "b", "c")
	require.Equal(t, int64(3), reg.Get("openai").Throttle().Stats().Admitted)
}
