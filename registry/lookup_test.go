package registry_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
)

func TestForFallsBackFromHostToServiceToDefault(t *testing.T) {
	spec := func(s string) registry.Spec { return registry.Spec{Limits: limits(t, s)} }
	c := registry.Config{
		Default: spec("1/s"),
		Services: map[string]registry.Service{
			"OpenAI": {Spec: spec("2/s"), Hosts: map[string]registry.Spec{" EU.api.openai.com.": spec("3/s")}},
			"crawl":  {Spec: spec("4/s"), Hosts: map[string]registry.Spec{"*": spec("5/s"), "a.org:8080": spec("6/s")}},
		},
	}
	for about, tc := range map[string]struct{ service, host, name, limits string }{
		"the host's own":               {"openai", "eu.api.openai.com", "openai/eu.api.openai.com", "3/s"},
		"in another spelling":          {" OPENAI", "Eu.Api.OpenAI.com. ", "openai/eu.api.openai.com", "3/s"},
		"the service's":                {"openai", "api.openai.com", "openai", "2/s"},
		"without a host":               {"OpenAI", "", "openai", "2/s"},
		"a host with a template":       {"crawl", "b.org", "crawl/b.org", "5/s"},
		"its own in spite of that":     {"crawl", "a.org:8080", "crawl/a.org:8080", "6/s"},
		"another port":                 {"crawl", "a.org", "crawl/a.org", "5/s"},
		"no host beside the template":  {"crawl", "", "crawl", "4/s"},
		"an unknown service":           {"ols", "www.ebi.ac.uk", "ols", "1/s"},
		"an unknown service, no host":  {"ols", "", "ols", "1/s"},
		"no service":                   {"", "www.ebi.ac.uk", "www.ebi.ac.uk", "1/s"},
		"no service, and the host one": {"", "openai", "openai", "2/s"},
		"no service, a templated one":  {"", "crawl", "crawl", "4/s"},
		"neither":                      {" ", "", "default", "1/s"},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRegistry(t, c)
			l := r.For(tc.service, tc.host)
			assert.Equal(t, tc.name, l.Name())
			assert.Equal(t, tc.limits, l.Stats().Limits.String())
			assert.Same(t, l, r.For(tc.service, tc.host), "it is made once")
			assert.Same(t, l, r.Get(tc.name), "and found by its name")
			assert.True(t, r.Exists(tc.name))
		})
	}
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
	l := newRegistry(t, registry.Config{}).For("ols", "")
	assert.Equal(t, "unlimited", l.Stats().Limits.String())
	assert.Zero(t, l.Stats().View.Concurrency)
}

func TestGetOfAnUnknownNameIsNil(t *testing.T) {
	r := newRegistry(t, text(t, "ols: 4/s"))
	assert.Nil(t, r.Get("bioportal"))
	assert.Nil(t, r.Get(""))
	assert.Nil(t, r.Get("ols/www.ebi.ac.uk"))
	assert.Nil(t, r.Get("default"))
	assert.False(t, r.Exists("bioportal"))
	assert.Equal(t, []string{"ols"}, r.Names(), "looking makes nothing")
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

func TestOptionsReachTheLimiters(t *testing.T) {
	clock := clockwork.NewFakeClock()
	var told []event.Event
	r := newRegistry(t, text(t, "ols: 4/s"), registry.WithClock(clock),
		registry.WithObserver(event.Func(func(e event.Event) { told = append(told, e) })))
	l := r.Get("ols")
	answered(t, l, adaptive.Feedback{Verdict: adaptive.Hit})
	require.NotEmpty(t, told)
	assert.Equal(t, "ols", told[0].Source)
	assert.Equal(t, clock.Now(), told[0].Time)
}

func TestTheDefaultRegistryIsOne(t *testing.T) {
	const name = "the default registry's test"
	defer registry.Default().Remove(name)
	l, err := registry.Register(name, policy(t, "1/s"))
	require.NoError(t, err)
	assert.Same(t, registry.Default(), registry.Default())
	assert.Same(t, l, registry.Get(name))
	assert.Same(t, l, registry.For(name, "x"))
	again, err := registry.GetOrCreate(name, guard.Policy{})
	require.NoError(t, err)
	assert.Same(t, l, again)
	_, err = registry.Replace(name, policy(t, "2/s"))
	require.NoError(t, err)
	assert.Equal(t, "2/s", l.Stats().Limits.String())
}

// Lookup finds what somebody has said something about, and nothing else.
func TestLookup(t *testing.T) {
	c := text(t, "openai: 5/s; mistral: 4/s")
	c.Services["slack"] = registry.Service{Hosts: map[string]registry.Spec{"*": {Limits: limits(t, "3/s")}}}
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
		{"openai", "", ""},
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
	assert.False(t, r.Exists("cohere"), "it makes none of the default")
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
		{func() { _ = r.Reset("y") }, false},
		{func() { r.Remove("y") }, true},
		{func() { r.Remove("y") }, false},
		{func() { _, _ = r.Register("z", guard.Policy{MaxWait: -1}) }, true}, // it came and went
	} {
		step.do()
		assert.Equal(t, step.moves, r.Generation() != last, "step %d", i)
		last = r.Generation()
	}
}
