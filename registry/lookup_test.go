package registry_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestForFallsBackToShorterPaths(t *testing.T) {
	spec := func(s string) registry.Spec { return registry.Spec{Limits: limits(t, s)} }
	c := registry.Config{
		Default: spec("1/s"),
		Guards: map[string]registry.Spec{
			"OpenAI": spec("2/s"), "openai/ EU.api.openai.com.": spec("3/s"),
			"crawl": spec("4/s"), "crawl/*": spec("5/s"), "crawl/a.org:8080": spec("6/s"),
			"users/*": spec("7/s"), "deep/a/b/*": spec("8/s"),
		},
	}
	for about, tc := range map[string]struct {
		path         []string
		name, limits string
	}{
		"its own":                     {[]string{"openai", "eu.api.openai.com"}, "openai/eu.api.openai.com", "3/s"},
		"in another spelling":         {[]string{" OPENAI", "Eu.Api.OpenAI.com. "}, "openai/eu.api.openai.com", "3/s"},
		"without the last part":       {[]string{"openai", "api.openai.com"}, "openai", "2/s"},
		"without two":                 {[]string{"openai", "api.openai.com", "gpt"}, "openai", "2/s"},
		"an empty part":               {[]string{"OpenAI", ""}, "openai", "2/s"},
		"an empty part of a template": {[]string{"users", ""}, "users/(empty)", "7/s"},
		"a template":                  {[]string{"crawl", "b.org"}, "crawl/b.org", "5/s"},
		"a whole name":                {[]string{"crawl/b.org"}, "crawl/b.org", "5/s"},
		"its own beside a template":   {[]string{"crawl", "a.org:8080"}, "crawl/a.org:8080", "6/s"},
		"another port":                {[]string{"crawl", "a.org"}, "crawl/a.org", "5/s"},
		"below a template":            {[]string{"crawl", "b.org", "page"}, "crawl/b.org", "5/s"},
		"not beside the template":     {[]string{"crawl"}, "crawl", "4/s"},
		"a template alone":            {[]string{"users", "ann"}, "users/ann", "7/s"},
		"a slash within a part":       {[]string{"users", "https://id.org/7"}, "users/https://id.org/7", "7/s"},
		"without a guard before it":   {[]string{"users"}, "users", "1/s"},
		"a deep template":             {[]string{"deep", "a", "b", "c"}, "deep/a/b/c", "8/s"},
		"not as deep":                 {[]string{"deep", "a", "x", "c"}, "deep", "1/s"},
		"an unknown name":             {[]string{"ols", "www.ebi.ac.uk"}, "ols", "1/s"},
		"an unknown name alone":       {[]string{"ols"}, "ols", "1/s"},
		"no first part":               {[]string{"", "www.ebi.ac.uk"}, "www.ebi.ac.uk", "1/s"},
		"no first part, and a guard":  {[]string{"", "openai"}, "openai", "2/s"},
		"nothing":                     {nil, "default", "1/s"},
		"empty parts":                 {[]string{" ", ""}, "default", "1/s"},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRegistry(t, c)
			g := r.For(tc.path...)
			assert.Equal(t, tc.name, g.Name())
			assert.Equal(t, tc.limits, g.Stats().Limits.String())
			assert.Same(t, g, r.For(tc.path...), "it is made once")
			assert.Same(t, g, r.Get(tc.name), "and found by its name")
			assert.True(t, exists(r, tc.name))
		})
	}
}

// Each guard is within the nearest configured name before a slash, and within
// those that its Spec names.
func TestNamesAreWithinTheNamesBeforeTheirSlashes(t *testing.T) {
	r := newRegistry(t, registry.Config{
		Default: registry.Spec{Within: []string{"all"}},
		Guards: map[string]registry.Spec{
			"all": {}, "crawl": {Within: []string{"all"}}, "crawl/*": {}, "crawl/a.org/x": {Within: []string{"api"}}, "api": {}, "users/*": {},
		},
	})
	_, err := r.Register("users/ann/phone", guard.Policy{Within: []*guard.Guard{r.Get("api")}})
	require.NoError(t, err)
	_, err = r.Register("crawl/b.org/x", guard.Policy{})
	require.NoError(t, err)
	for name, want := range map[string][]string{
		"crawl": {"all"}, "crawl/b.org": {"crawl"}, "crawl/a.org": {"crawl"}, "crawl/a.org/x": {"crawl", "api"}, "crawl/b.org/x": {"crawl"},
		"users/ann": nil, "users/ann/phone": {"api"}, "unknown": {"all"}, "all": nil,
	} {
		var within []string
		for _, g := range r.For(name).Policy().Within {
			within = append(within, g.Name())
			assert.Same(t, r.Get(g.Name()), g)
		}
		assert.Equal(t, want, within, name)
	}
	r.Remove("crawl")
	assert.Empty(t, r.For("crawl", "c.org").Policy().Within, "what was removed bounds nothing new")
}

// A guard within another one learns by itself only if its law says so.
func TestWhichGuardLearns(t *testing.T) {
	r := newRegistry(t, registry.Config{Guards: map[string]registry.Spec{
		"crawl": {}, "crawl/*": {}, "api": {}, "api/*": {Law: registry.Measured},
	}})
	assert.Same(t, r.Get("crawl"), r.For("crawl", "a.org").Learner())
	answered(t, r.For("crawl", "a.org"), adaptive.Feedback{Verdict: adaptive.Hit})
	assert.Equal(t, int64(1), r.Stats().Total.Hits, "counted once")
	own := r.For("api", "ann")
	assert.Same(t, own, own.Learner())
	assert.Zero(t, own.Stats().View.Concurrency, "and begins with the first rejected call")
}

// The settings of a Spec are those of the policy.
func TestTheFieldsOfASpec(t *testing.T) {
	p := newRegistry(t, registry.Config{Default: registry.Spec{
		MaxQueue: 3, Timeout: time.Second, MaxWait: time.Minute, Retry: 2, Breaker: true,
	}}).For("x").Policy()
	assert.Equal(t, 3, p.MaxQueue)
	assert.Equal(t, time.Second, p.Timeout)
	assert.Equal(t, time.Minute, p.MaxWait)
	assert.Equal(t, &retry.Policy{MaxAttempts: 2}, p.Retry)
	assert.Equal(t, &breaker.Config{}, p.Breaker)
}

func TestForSharesWhatIsOneQuota(t *testing.T) {
	r := newRegistry(t, text(t, "default: 1/s; openai: 2/s"))
	assert.Same(t, r.For("openai", "a"), r.For("openai", "b"), "all hosts of a configured service")
	assert.Same(t, r.For("ols", "a"), r.For("ols", "b"), "all hosts of one that is not")
	assert.NotSame(t, r.For("ols", "a"), r.For("bioportal", "a"), "the default is a template")
	assert.Equal(t, []string{"bioportal", "ols", "openai"}, r.Names())
}

func TestForTakesAHostThatWasRegistered(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	service := r.For("openai", "eu.openai.com")
	l, err := r.Register("OpenAI/eu.openai.com", policy(t, "1/s"))
	require.NoError(t, err)
	assert.Same(t, l, r.For("openai", "eu.openai.com"))
	assert.Same(t, service, r.For("openai", "us.openai.com"))
}

func TestForWithoutAConfigurationFindsTheLimits(t *testing.T) {
	l := newRegistry(t, registry.Config{}).For("ols")
	assert.Equal(t, "unlimited", l.Stats().Limits.String())
	assert.Zero(t, l.Stats().View.Concurrency)
}

func TestGetOfAnUnknownNameIsNil(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 4/s"))
	assert.Nil(t, r.Get("bioportal"))
	assert.Nil(t, r.Get(""))
	assert.Nil(t, r.Get("ols/www.ebi.ac.uk"))
	assert.Nil(t, r.Get("default"))
	assert.False(t, exists(r, "bioportal"))
	assert.Equal(t, []string{"ols"}, r.Names(), "looking makes nothing")
}

// What Get and Lookup return for an unknown name makes no call and does not panic.
func TestCallsOnTheGuardOfAnUnknownNameFail(t *testing.T) {
	r, err := registry.New(registry.Config{})
	require.NoError(t, err)
	const problem = "guard: the guard is nil, as registry.Get returns for an unknown name: use registry.For, or check for nil"
	call := func(ctx context.Context) error { t.Error("called"); return ctx.Err() }
	for _, g := range []*guard.Guard{r.Get("unknown"), r.Lookup("unknown")} {
		require.EqualError(t, g.Do(t.Context(), throttle.Cost{}, call), problem)
		require.EqualError(t, g.Try(t.Context(), throttle.Cost{}, call), problem)
		_, err = guard.Get(t.Context(), g, throttle.Cost{}, func(ctx context.Context) (int, error) { return 1, call(ctx) })
		require.EqualError(t, err, problem)
		begun := g.Begin(throttle.Cost{})
		_, err = begun.Admit(t.Context())
		require.EqualError(t, err, problem)
		again, err := begun.End(adaptive.Feedback{})
		require.NoError(t, err)
		require.False(t, again)
		require.False(t, begun.ApplyMeters([throttle.Units]adaptive.Meter{}))
	}
}

func TestAllIsSortedAndMakesWhatIsMissing(t *testing.T) {
	r := newRegistry(t, text(t, "b: 2/s; a: 1/s; a/x: 4/s"))
	_, err := r.Register("c", policy(t, "3/s"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a/x", "b", "c"}, r.Names())
	all := maps.Collect(r.All())
	assert.Equal(t, r.Names(), slices.Sorted(maps.Keys(all)))
	var order []string
	for name, l := range r.All() {
		assert.Same(t, all[name], l)
		assert.Equal(t, name, l.Name())
		if order = append(order, name); name == "b" {
			break
		}
		r.Remove("b") // it may still come
	}
	assert.Equal(t, []string{"a", "a/x", "b"}, order)
}

func TestTheConfigReachesTheGuards(t *testing.T) {
	clock := clockwork.NewFakeClock()
	var told []event.Event
	c := text(t, "ols: 4/s")
	c.Clock, c.Observer = clock, event.Func(func(e event.Event) { told = append(told, e) })
	r := newRegistry(t, c)
	l := r.Get("ols")
	answered(t, l, adaptive.Feedback{Verdict: adaptive.Hit})
	require.NotEmpty(t, told)
	assert.Equal(t, "ols", told[0].Source)
	assert.Equal(t, clock.Now(), told[0].Time)
}

func TestTheDefaultRegistryIsOne(t *testing.T) {
	const name = "the default registry's test"
	defer registry.Default().Remove(name)
	g, err := registry.Default().Register(name, policy(t, "1/s"))
	require.NoError(t, err)
	assert.Same(t, g, registry.Default().Get(name))
}

// Lookup finds names that are configured or registered, and no others.
func TestLookup(t *testing.T) {
	c := text(t, "openai: 5/s; mistral: 4/s")
	c.Guards["slack/*"] = registry.Spec{Limits: limits(t, "3/s")}
	r := newRegistry(t, c)
	_, err := r.Register("mistral/eu.mistral.ai", guard.Policy{})
	require.NoError(t, err)
	for _, tc := range []struct{ service, host, want string }{
		{"openai", "api.openai.com", "openai"},
		{" OpenAI", "API.openai.com.", "openai"},
		{"mistral", "eu.mistral.ai", "mistral/eu.mistral.ai"},
		{"mistral", "us.mistral.ai", "mistral"},
		{"slack", "a.slack.com", "slack/a.slack.com"},
		{"slack", "b.slack.com", "slack/b.slack.com"},
		{"cohere", "api.cohere.com", ""},
		{"", "api.cohere.com", ""},
		{"openai", "", "openai"},
		{"", "", ""},
	} {
		l := r.Lookup(tc.service, tc.host)
		if tc.want == "" {
			assert.Nil(t, l, "%+v", tc)
			continue
		}
		require.NotNil(t, l, "%+v", tc)
		assert.Equal(t, tc.want, l.Name())
		assert.Same(t, l, r.For(tc.service, tc.host))
	}
	assert.False(t, exists(r, "cohere"), "it makes none of the default")
}

// While the generation is the same, so is what is found.
func TestGeneration(t *testing.T) {
	r := newRegistry(t, text(t, "openai: 5/s"))
	last := r.Generation()
	for i, step := range []struct {
		do    func()
		moves bool
	}{
		{func() { r.Get("openai") }, false},
		{func() { r.For("mistral", "a") }, true},
		{func() { r.For("mistral", "b") }, false},
		{func() { _, _ = r.Register("x", guard.Policy{}) }, true},
		{func() { _, _ = r.Register("x", guard.Policy{}) }, false},
		{func() { _, _ = r.GetOrCreate("y", guard.Policy{}) }, true},
		{func() { _, _ = r.Replace("y", guard.Policy{MaxWait: time.Hour}) }, false},
		{func() { _ = r.Get("y").Reset() }, false},
		{func() { r.Remove("y") }, true},
		{func() { r.Remove("y") }, false},
		{func() { _, _ = r.Register("z", guard.Policy{MaxWait: -1}) }, true}, // it came and went
	} {
		step.do()
		assert.Equal(t, step.moves, r.Generation() != last, "step %d", i)
		last = r.Generation()
	}
}
