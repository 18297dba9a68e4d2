package gateway

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/proxy"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	defaults := []string{
		"ANTHROPIC_BASE_URL=http://p/anthropic", "CO_API_URL=http://p/cohere", "GOOGLE_GEMINI_BASE_URL=http://p/gemini", "GROQ_BASE_URL=http://p/groq",
		"HEADRACE_PROXY_URL=http://p", "OPENAI_BASE_URL=http://p/openai/v1", "TOGETHER_BASE_URL=http://p/together/v1",
	}
	without := func(name string, more ...string) []string {
		left := slices.DeleteFunc(slices.Clone(defaults), func(one string) bool { return name+"=" == one[:min(len(one), len(name)+1)] })
		left = append(left, more...)
		slices.Sort(left)
		return left
	}
	for name, of := range map[string]struct {
		set       map[string]string
		given     map[string]proxy.Upstream
		want      []string
		upstreams map[string]string
		notes     int
	}{
		"nothing is set": {want: defaults},
		"an own server": {
			set:       map[string]string{"OPENAI_BASE_URL": "http://Localhost:8000/v1/"},
			want:      without("OPENAI_BASE_URL", "OPENAI_BASE_URL=http://p/at-localhost-8000/v1/"),
			upstreams: map[string]string{"at-localhost-8000": "http://localhost:8000"}, notes: 1,
		},
		"another provider": {
			set:  map[string]string{"OPENAI_BASE_URL": "https://api.groq.com/openai/v1"},
			want: without("OPENAI_BASE_URL", "OPENAI_BASE_URL=http://p/groq/openai/v1"), notes: 1,
		},
		"a given upstream": {
			set:   map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9000"},
			given: map[string]proxy.Upstream{"local": {URL: "http://127.0.0.1:9000"}},
			want:  without("OPENAI_BASE_URL", "OPENAI_BASE_URL=http://p/local"), notes: 1,
		},
		"one server for two": {
			set: map[string]string{"OPENAI_BASE_URL": "http://h:1/v1", "ANTHROPIC_BASE_URL": "http://h:1"},
			want: []string{
				"ANTHROPIC_BASE_URL=http://p/at-h-1", "CO_API_URL=http://p/cohere", "GOOGLE_GEMINI_BASE_URL=http://p/gemini", "GROQ_BASE_URL=http://p/groq",
				"HEADRACE_PROXY_URL=http://p", "OPENAI_BASE_URL=http://p/at-h-1/v1", "TOGETHER_BASE_URL=http://p/together/v1",
			},
			upstreams: map[string]string{"at-h-1": "http://h:1"}, notes: 2,
		},
		"two servers with one name": {
			set:       map[string]string{"OPENAI_BASE_URL": "http://[::1]:8/v1", "ANTHROPIC_BASE_URL": "https://[::1]:8"},
			upstreams: map[string]string{"at-1--8": "http://[::1]:8", "at-1--8-2": "https://[::1]:8"}, notes: 2,
		},
		"other names of it": {
			set:  map[string]string{"OPENAI_API_BASE": "https://api.openai.com/v1"},
			want: append(slices.Clone(defaults)[:5:5], append([]string{"OPENAI_API_BASE=http://p/openai/v1"}, defaults[5:]...)...), notes: 1,
		},
		"azure": {
			set:       map[string]string{azure: "https://me.openai.azure.com/"},
			want:      without("OPENAI_BASE_URL", azure+"=http://p/at-me.openai.azure.com/"),
			upstreams: map[string]string{"at-me.openai.azure.com": "https://me.openai.azure.com"}, notes: 2,
		},
		"what cannot be sent on": {
			set:   map[string]string{"OPENAI_BASE_URL": "https://u:p@h/v1", "GROQ_BASE_URL": "unix:/x", "ANTHROPIC_BASE_URL": "http://h?key=1"},
			want:  []string{"CO_API_URL=http://p/cohere", "GOOGLE_GEMINI_BASE_URL=http://p/gemini", "HEADRACE_PROXY_URL=http://p", "TOGETHER_BASE_URL=http://p/together/v1"},
			notes: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Redirect(environment(of.set), All(of.given))
			got := r.Environ(nil, "http://p")
			if of.want != nil {
				assert.Equal(t, of.want, got)
			}
			upstreams := map[string]string{}
			for name, u := range r.Upstreams {
				upstreams[name] = u.URL
			}
			if of.upstreams == nil {
				of.upstreams = map[string]string{}
			}
			assert.Equal(t, of.upstreams, upstreams)
			assert.Len(t, r.Notes, of.notes)
			for _, note := range r.Notes {
				assert.NotContains(t, note, "u:p")
			}
			c := proxy.Config{Upstreams: maps.Clone(r.Upstreams)}
			_, err := proxy.New(c)
			assert.NoError(t, err, "the names are those of upstreams")
		})
	}
}

// What was set is replaced and not repeated; the rest stays, in its order.
func TestEnviron(t *testing.T) {
	t.Parallel()
	set := map[string]string{"OPENAI_BASE_URL": "http://h/v1"}
	r := Redirect(environment(set), All(nil))
	got := r.Environ([]string{"Z=1", "OPENAI_BASE_URL=http://h/v1", "A=2", "HTTPS_PROXY=http://x", "no_proxy=a"}, "http://127.0.0.1:5")
	assert.Equal(t, []string{"Z=1", "A=2", "HTTPS_PROXY=http://x"}, got[:3])
	assert.Contains(t, got, "OPENAI_BASE_URL=http://127.0.0.1:5/at-h/v1")
	assert.Contains(t, got, "no_proxy=a,127.0.0.1")
	assert.Contains(t, got, "NO_PROXY=127.0.0.1")
	names := map[string]int{}
	for _, one := range got {
		name, _, _ := strings.Cut(one, "=")
		names[name]++
	}
	for name, n := range names {
		assert.Equal(t, 1, n, name)
	}
}
