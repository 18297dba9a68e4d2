package headrace_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// fine is a base that has nothing to say.
func fine() http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			r.Body.Close()
		}
		return answer(http.StatusOK, "", `{}`), nil
	})
}

func emptyRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	reg, err := registry.New(registry.Config{})
	require.NoError(t, err)
	return reg
}

// own is a table with one row of the user's, as old as can be.
func own(t *testing.T, id presets.ID) *presets.Table {
	t.Helper()
	table, err := presets.New(presets.Profile{
		ID: id, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(7000, time.Second)}}, Main: true,
		Source: presets.Source{Title: "ours", URL: "https://example.com/limits"}, AsOf: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		Confidence: presets.High, Dialect: dialect.OpenAI,
	})
	require.NoError(t, err)
	return presets.Default().With(table)
}

// A version of a model draws on the quota of the model.
func TestVersionsOfAModelShareALimiter(t *testing.T) {
	reg := emptyRegistry(t)
	c := &http.Client{Transport: headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg))}
	for _, model := range []string{"gpt-4o", "gpt-4o-2024-08-06", "GPT-4o-latest", "gpt-4o-audio"} {
		read(t, post(t, c, secretURL, `{"model":"`+model+`"}`)) //nolint:bodyclose // read does
	}
	assert.Equal(t, []string{"openai/api.openai.com/tier1", "openai/api.openai.com/tier1/gpt-4o"}, reg.Names())
}

func TestPresetsOfOnesOwn(t *testing.T) {
	reg := emptyRegistry(t)
	table := own(t, "openai/ours/m-1")
	c := &http.Client{Transport: headrace.Transport(fine(), "openai/ours", headrace.WithRegistry(reg), headrace.WithPresets(table))}
	read(t, post(t, c, secretURL, `{"model":"m-1-2026-01-01"}`)) //nolint:bodyclose // read does
	read(t, post(t, c, secretURL, `{"model":"other"}`))          //nolint:bodyclose // read does
	assert.Equal(t, []string{"openai/api.openai.com/ours/m-1"}, reg.Names(), "the tier is its only row")

	c.Transport = headrace.Transport(fine(), "openai/ours", headrace.WithPresets(nil))
	_, err := c.Get(secretURL) //nolint:bodyclose // there is none
	assert.ErrorContains(t, err, "WithPresets")
	assert.ErrorContains(t, err, "openai/ours")
}

// A preset that is older than a year is told once in a process, to who observes.
func TestAStalePreset(t *testing.T) {
	id := presets.ID("openai/stale/m-" + strconv.FormatInt(time.Now().UnixNano(), 36)) // another one with -count
	table := own(t, id)
	var told, inContext []event.Event
	send := func(reg *registry.Registry, opts ...headrace.Option) {
		opts = append(opts, headrace.WithRegistry(reg), headrace.WithPresets(table))
		ctx := event.With(t.Context(), event.Func(func(e event.Event) { inContext = append(inContext, e) }))
		if opts[0] == nil {
			ctx, opts = t.Context(), opts[1:]
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, http.NoBody)
		require.NoError(t, err)
		resp, err := headrace.Transport(fine(), id, opts...).RoundTrip(req)
		require.NoError(t, err)
		read(t, resp)
	}
	configured, err := registry.Parse("openai: 100/s")
	require.NoError(t, err)
	reg, err := registry.New(configured)
	require.NoError(t, err)
	observed := headrace.WithObserver(event.Func(func(e event.Event) { told = append(told, e) }))
	send(reg, observed) // the preset is not used
	send(emptyRegistry(t), nil)
	assert.Empty(t, told)
	for range 2 {
		send(emptyRegistry(t), observed)
	}
	require.Len(t, told, 1)
	assert.Equal(t, told, inContext)
	assert.Equal(t, event.LimiterStalePreset, told[0].Kind)
	assert.Equal(t, strings.Replace(string(id), "/", "/api.openai.com/", 1), told[0].Source)
	assert.Equal(t, string(id), told[0].Key)
	assert.Contains(t, told[0].Reason, "2020-01-01")
	assert.Contains(t, told[0].Reason, "https://example.com/limits")
}

func TestWithDialectChecksTheName(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{dialect.Name("opnai"): "WithDialect", dialect.Name(""): "", dialect.OpenAI: "", nil: ""} {
		l, _ := limiter(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, secretURL, http.NoBody)
		require.NoError(t, err)
		resp, err := headrace.Transport(fine(), "", headrace.WithDialect(d), headrace.WithLimiter(l)).RoundTrip(req)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		resp.Body.Close()
	}
}
