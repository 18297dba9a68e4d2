package headrace_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
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
	for _, model := range []string{"gpt-4o-audio", "gpt-4o", "gpt-4o-2024-08-06", "GPT-4o-latest"} {
		read(t, post(t, c, chatURL, `{"model":"`+model+`"}`)) //nolint:bodyclose // read does
	}
	assert.Equal(t, []string{"openai/api.openai.com/tier1", "openai/api.openai.com/tier1:gpt-4o"}, reg.Names())
	assert.Empty(t, reg.Get("openai/api.openai.com/tier1:gpt-4o").Policy().Within, "a pool is not within another")
}

// What stands before the name of a model in a request is not part of it.
func TestModelsWithAPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := emptyRegistry(t)
		c := &http.Client{Transport: headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg))}
		const host = "https://h"
		for _, r := range []struct{ path, model string }{
			{"/", `"models/gpt-4o"`},
			{"/", `"ft:gpt-4o-2024-08-06:acme::1"`},
			{"/v1beta/models/gpt-4o:generateContent", "null"},
			{"/openai/deployments/gpt-4o/chat/completions", "null"},
			{"/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A%3Afoundation-model%2Fgpt-4o/converse", "null"},
		} {
			read(t, post(t, c, host+r.path, `{"model":`+r.model+`}`)) //nolint:bodyclose // read does
		}
		assert.Equal(t, []string{"openai/h/tier1:gpt-4o"}, reg.Names())
	})
}

// However a URL spells a host, it is one.
func TestSpellingsOfAHost(t *testing.T) {
	for url, want := range map[string]string{
		"https://API.OpenAI.com":       "api.openai.com",
		"https://api.openai.com.":      "api.openai.com",
		"https://api.openai.com:443":   "api.openai.com",
		"https://api.openai.com.:443":  "api.openai.com",
		"https://api.openai.com.:8443": "api.openai.com:8443",
		"http://api.openai.com.:80":    "api.openai.com",
		"http://api.openai.com:443":    "api.openai.com:443",
		"https://[::1]:443":            "[::1]",
		"https://[::1]:8443":           "[::1]:8443",
	} {
		reg := emptyRegistry(t)
		c := &http.Client{Transport: headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg))}
		read(t, post(t, c, url, `{}`)) //nolint:bodyclose // read does
		assert.Equal(t, []string{"openai/" + want + "/tier1"}, reg.Names(), url)
	}
}

// What is configured in the registry goes before the preset: for the key, for
// the host, for all hosts, or for the service. A name is within those before
// its slashes.
func TestTheRegistryIsAskedFirst(t *testing.T) {
	for config, want := range map[string]string{
		"openai: 100/s":                                         "openai",
		"openai: 100/s; openai/*: 10/s":                         "openai openai/reg.example",
		"openai/*: 10/s":                                        "openai/reg.example",
		"openai/reg.example: 10/s":                              "openai/reg.example",
		"openai: 100/s; openai/reg.example: 10/s":               "openai openai/reg.example",
		"openai: 100/s; openai/other.example: 10/s":             "openai",
		"openai/reg.example: 100/s; openai/reg.example/*: 10/s": "openai/reg.example openai/reg.example/key1",
	} {
		t.Run(config, func(t *testing.T) {
			c, err := registry.Parse(config)
			require.NoError(t, err)
			reg, err := registry.New(c)
			require.NoError(t, err)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://reg.example", strings.NewReader(`{"model":"gpt-4o"}`))
			require.NoError(t, err)
			req.Header.Set("X-Api-Key", "k")
			resp, err := headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg)).RoundTrip(req)
			require.NoError(t, err)
			read(t, resp)
			var used []string
			for name, g := range reg.All() {
				if g.Stats().Admitted > 0 {
					used = append(used, name)
				}
			}
			assert.Equal(t, want, strings.Join(used, " "))
		})
	}
}

// What comes into the registry, or goes, while the transport is in use is seen.
func TestTheRegistryChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := emptyRegistry(t)
		c := &http.Client{Transport: headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg))}
		admitted := func(name string) int64 { return reg.Get(name).Stats().Admitted }
		send := func() {
			for range 2 {
				read(t, post(t, c, "https://h", `{"model":"gpt-4o"}`)) //nolint:bodyclose // read does
			}
		}
		send()
		assert.EqualValues(t, 2, admitted("openai/h/tier1:gpt-4o"))
		_, err := reg.Register("openai", guard.Policy{})
		require.NoError(t, err)
		send()
		assert.EqualValues(t, 2, admitted("openai"))
		first, err := reg.Register("openai/h", guard.Policy{})
		require.NoError(t, err)
		send()
		assert.EqualValues(t, 2, admitted("openai/h"))
		reg.Remove("openai/h")
		_, err = reg.Register("openai/h", guard.Policy{})
		require.NoError(t, err)
		send()
		assert.NotSame(t, first, reg.Get("openai/h"))
		assert.EqualValues(t, 2, admitted("openai/h"))
		assert.EqualValues(t, 2, admitted("openai/h/tier1:gpt-4o"))
	})
}

// What is remembered is bounded, though hosts and models come from callers.
func TestRoutesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)))
		c := &http.Client{Transport: rt}
		for i := range 1100 {
			read(t, post(t, c, "https://h", `{"model":"m`+strconv.Itoa(i)+`"}`)) //nolint:bodyclose // read does
		}
		assert.LessOrEqual(t, headrace.Routes(rt), 1024)
		assert.Positive(t, headrace.Routes(rt))
	})
}

// The bound of one transport is not that of others on the same limiter.
func TestMaxWaitIsOfOneTransport(t *testing.T) {
	for _, hasty := range []bool{true, false} { // the first request makes the limiter
		synctest.Test(t, func(t *testing.T) {
			reg := emptyRegistry(t)
			refused := 0
			base := tripper(func(*http.Request) (*http.Response, error) {
				if refused++; refused%4 != 0 {
					return answer(http.StatusTooManyRequests, "Retry-After: 60", `{}`), nil
				}
				return answer(http.StatusOK, "", `{}`), nil
			})
			send := func(p guard.Policy) int {
				refused = 0
				rt := headrace.Transport(base, presets.OpenAITier1, headrace.With(p), headrace.WithRegistry(reg))
				resp := post(t, &http.Client{Transport: rt}, "https://h", "")
				read(t, resp)
				return resp.StatusCode
			}
			first, none := guard.Policy{MaxWait: 10 * time.Second}, guard.Policy{}
			if hasty {
				assert.Equal(t, http.StatusTooManyRequests, send(first))
			}
			assert.Equal(t, http.StatusOK, send(none))
			assert.Equal(t, http.StatusTooManyRequests, send(first))
			assert.Equal(t, http.StatusOK, send(none))
		})
	}
}

func TestPresetsOfOnesOwn(t *testing.T) {
	reg := emptyRegistry(t)
	table := own(t, "openai/ours/m-1")
	c := &http.Client{Transport: headrace.Transport(fine(), "openai/ours", headrace.WithRegistry(reg), headrace.With(guard.Policy{Presets: table}))}
	read(t, post(t, c, chatURL, `{"model":"m-1-2026-01-01"}`)) //nolint:bodyclose // read does
	read(t, post(t, c, chatURL, `{"model":"other"}`))          //nolint:bodyclose // read does
	assert.Equal(t, []string{"openai/api.openai.com/ours:m-1"}, reg.Names(), "the tier is its only row")
}

// A preset that is older than a year is reported to observers once in a process.
func TestAStalePreset(t *testing.T) {
	id := presets.ID("openai/stale/m-" + strconv.FormatInt(time.Now().UnixNano(), 36)) // another one with -count
	table := own(t, id)
	var told, inContext []event.Event
	send := func(reg *registry.Registry, o event.Observer) {
		ctx := t.Context()
		if o != nil {
			ctx = event.With(ctx, event.Func(func(e event.Event) { inContext = append(inContext, e) }))
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, chatURL, http.NoBody)
		require.NoError(t, err)
		resp, err := headrace.Transport(fine(), id, headrace.With(guard.Policy{Presets: table, Observer: o}), headrace.WithRegistry(reg)).RoundTrip(req)
		require.NoError(t, err)
		read(t, resp)
	}
	configured, err := registry.Parse("openai: 100/s")
	require.NoError(t, err)
	reg, err := registry.New(configured)
	require.NoError(t, err)
	observed := event.Func(func(e event.Event) { told = append(told, e) })
	send(reg, observed) // the preset is not used
	send(emptyRegistry(t), nil)
	assert.Empty(t, told)
	for range 2 {
		send(emptyRegistry(t), observed)
	}
	require.Len(t, told, 1)
	assert.Equal(t, told, inContext)
	assert.Equal(t, event.LimiterStalePreset, told[0].Kind)
	assert.Equal(t, "openai/api.openai.com/stale:"+strings.TrimPrefix(string(id), "openai/stale/"), told[0].Source)
	assert.Equal(t, string(id), told[0].Key)
	assert.Contains(t, told[0].Reason, "2020-01-01")
	assert.Contains(t, told[0].Reason, "https://example.com/limits")
}

func TestTheNameOfTheDialectIsChecked(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{dialect.Name("opnai"): "With: guard \"guard\": Dialect", dialect.OpenAI: "", nil: ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, chatURL, http.NoBody)
		require.NoError(t, err)
		l, _ := limiter(t)
		resp, err := headrace.Transport(fine(), "", headrace.With(guard.Policy{Dialect: d}), headrace.Within(l)).RoundTrip(req)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		resp.Body.Close()
	}
}

// Without a dialect the host says how a response is read.
func TestTheHostSaysWhoSpeaks(t *testing.T) {
	for name, c := range map[string]struct {
		url    string
		status int
		body   string
		policy guard.Policy
		closed bool
	}{
		"cohere, the month's":          {"https://api.cohere.com/v2/chat", 429, `{"message":"You have used up your monthly calls."}`, guard.Policy{}, true},
		"nominatim, its policy":        {"https://Nominatim.openstreetmap.org:443/search", 403, ``, guard.Policy{}, true},
		"the same, said to be anybody": {"https://nominatim.openstreetmap.org/search", 403, ``, guard.Policy{Dialect: dialect.Generic}, false},
		"the same, to be found out":    {"https://nominatim.openstreetmap.org/search", 403, ``, guard.Policy{Dialect: dialect.Auto}, true},
		"the same of another host":     {"https://example.com/search", 403, ``, guard.Policy{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
					return answer(c.status, "", c.body), nil
				}), "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(c.policy))
				client := &http.Client{Transport: rt}
				resp, err := client.Get(c.url)
				require.NoError(t, err)
				read(t, resp)
				if resp, err = client.Get(c.url); c.closed {
					require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
					return
				}
				require.NoError(t, err)
				read(t, resp)
			})
		})
	}
}
