package gateway

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/internal/wiretest"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/proxy"
)

func open(t *testing.T, change func(*Options)) *Gateway {
	t.Helper()
	provider, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	t.Cleanup(provider.Close)
	o := Options{
		Proxy:   proxy.Config{Upstreams: map[string]proxy.Upstream{"openai": {URL: provider.URL()}}},
		Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	}
	change(&o)
	g, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, g.Close(context.Background())) })
	return g
}

func get(t *testing.T, url string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if change != nil {
		change(req)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

const secret = "sk-canary-5d1c"

func ask(t *testing.T, base string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/openai/v1/chat/completions",
		strings.NewReader(`{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	status, body := do(t, req)
	require.Equal(t, http.StatusOK, status, body)
}

// Metrics and health are on the address of the page, or on their own, and never on that of the clients.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"beside the page": func(o *Options) { o.Dashboard = "127.0.0.1:0" },
		"alone":           func(o *Options) { o.Metrics = "127.0.0.1:0" },
		"apart":           func(o *Options) { o.Dashboard, o.Metrics = "127.0.0.1:0", "127.0.0.1:0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, change)
			ask(t, g.Base(""))
			status, text := get(t, "http://"+g.Metrics+"/metrics", nil)
			assert.Equal(t, http.StatusOK, status)
			assert.Contains(t, text, "# TYPE headrace_limiter_call_duration_seconds histogram\n")
			assert.Contains(t, text, `gen_ai_client_token_usage_count{`)
			assert.Contains(t, text, "# TYPE headrace_limiter_in_flight gauge\n")
			assert.NotContains(t, text, secret)
			status, text = get(t, "http://"+g.Metrics+"/healthz", nil)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, "ok\n", text)
			status, _ = get(t, g.Base("")+"/metrics", nil)
			assert.Equal(t, http.StatusNotFound, status)
			if name == "apart" {
				status, _ = get(t, "http://"+g.Dashboard+"/metrics", nil)
				assert.Equal(t, http.StatusNotFound, status)
			}
			if g.Dashboard != "" {
				status, text = get(t, "http://"+g.Dashboard+"/api/status", nil)
				assert.Equal(t, http.StatusOK, status)
				assert.NotContains(t, text, secret)
			}
			status, text = get(t, "http://"+g.Metrics+"/metrics", func(r *http.Request) { r.Host = "evil.example" })
			assert.Equal(t, http.StatusForbidden, status, text)
			require.NoError(t, g.Drain(t.Context()))
			status, text = get(t, "http://"+g.Metrics+"/healthz", nil)
			assert.Equal(t, http.StatusServiceUnavailable, status)
			assert.Equal(t, "draining\n", text)
		})
	}
}

// An address that other machines reach needs a token.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"--addr":      func(o *Options) { o.Address = "0.0.0.0:0" },
		"--dashboard": func(o *Options) { o.Dashboard = "0.0.0.0:0" },
		"--metrics":   func(o *Options) { o.Metrics = "0.0.0.0:0" },
	} {
		o := Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
		change(&o)
		_, err := Open(t.Context(), o)
		assert.ErrorContains(t, err, want+": ")
		assert.ErrorContains(t, err, "token")
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	g := open(t, func(*Options) {})
	assert.Equal(t, []string{"no calls came through the proxy (docs/proxy.md lists the variables that clients read)"}, g.Summary("the command"))
	ask(t, g.Base(""))
	status, _ := get(t, g.Base("")+"/nobody/v1", nil)
	assert.Equal(t, http.StatusNotFound, status)
	lines := g.Summary("the command")
	require.Len(t, lines, 3)
	assert.Regexp(t, `^1 call; it waited (0s|\d+ms) in all$`, lines[0], "a busy machine takes its time")
	assert.Contains(t, lines[1], "#key1: met no limit")
	assert.Equal(t, "responses of the proxy itself: headrace_unknown_upstream (1)", lines[2])
	assert.NotContains(t, strings.Join(lines, ""), secret)
}

// The proxy of headrace proxy has clients, and no command.
func TestSummaryNamesTheCallers(t *testing.T) {
	t.Parallel()
	var refused atomic.Bool
	provider, err := providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if refused.Swap(true) {
			return nil
		}
		return &providertest.Fault{Status: http.StatusTooManyRequests}
	}})
	require.NoError(t, err)
	t.Cleanup(provider.Close)
	g := open(t, func(o *Options) { o.Proxy.Upstreams = map[string]proxy.Upstream{"openai": {URL: provider.URL()}} })
	ask(t, g.Base(""))
	assert.Regexp(t, `^1 call, 1 429 hidden from clients; it waited `, g.Summary("clients")[0])
}

// A store that fails is logged, without its password, and not for each request.
func TestAStoreThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	const password = "pw-canary-77"
	closed, err := freeport.Address(t.Context())
	require.NoError(t, err)
	var text strings.Builder
	g := open(t, func(o *Options) {
		o.Proxy.Preset = "openai/tier1"
		o.Share = Share{Address: "redis://user:" + password + "@" + closed + "/0"}
		o.Log = slog.New(slog.NewTextHandler(&text, nil))
	})
	for range 2 {
		status, body := get(t, g.Base("")+"/openai/v1/models", nil)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, body, "headrace_store_unavailable")
	}
	require.NoError(t, g.Drain(t.Context()))
	assert.Equal(t, 1, strings.Count(text.String(), "the store of the shared limits is failing"), text.String())
	assert.Contains(t, text.String(), "connection refused")
	assert.NotContains(t, text.String(), "available again")
	assert.NotContains(t, text.String(), password)
}

// The end of an outage is logged too, by what was asked after its beginning.
func TestAStoreThatIsBackIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		o := outage{share: "redis://h:1/0", log: slog.New(slog.NewTextHandler(&text, nil))}
		before := time.Now()
		for range 3 {
			<-time.After(time.Second)
			require.ErrorIs(t, failure(o.asked(before, fs.ErrClosed)), fs.ErrClosed)
			require.NoError(t, failure(o.asked(before, nil)))
		}
		assert.NotContains(t, text.String(), "again")
		for range 3 {
			<-time.After(time.Second)
			require.NoError(t, failure(o.asked(time.Now(), nil)))
		}
		assert.Equal(t, 1, strings.Count(text.String(), `level=WARN msg="the store of the shared limits is available again" share=redis://h:1/0`), text.String())
		assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
	})
}

// failure is what asked has a call fail with.
func failure(_ time.Duration, err error) error { return err }

// A damaged key is not an outage, which would be over with the next request that needs another key.
func TestADamagedKeyOfAStoreIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		o := outage{share: "redis://h:1/0", log: slog.New(slog.NewTextHandler(&text, nil))}
		damaged := &fault.FieldError{Owner: "redisstore", Field: `the limits of "a"`, Problem: "damaged"}
		for range 61 {
			require.ErrorIs(t, failure(o.asked(time.Now(), damaged)), damaged)
			<-time.After(time.Second)
			require.NoError(t, failure(o.asked(time.Now(), nil)))
		}
		assert.Equal(t, 2, strings.Count(text.String(), "cannot read some of them"), text.String())
		assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
		assert.Contains(t, text.String(), `err="the limits of \"a\": damaged"`)
		require.ErrorIs(t, failure(o.asked(time.Now(), fs.ErrClosed)), fs.ErrClosed)
		assert.Contains(t, text.String(), "is failing", "which is logged beside it")
	})
}

// A directory that others can write to is not used.
func TestOwnDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	getenv := environment(map[string]string{"XDG_RUNTIME_DIR": dir})
	s, err := Own(nil, getenv)
	require.NoError(t, err)
	assert.Equal(t, "group:"+filepath.Join(dir, "headrace", "exec.sock"), s.Address)
	require.NoError(t, os.Chmod(filepath.Join(dir, "headrace"), 0o777))
	_, err = Own(nil, getenv)
	require.ErrorContains(t, err, "is not a directory that only this user can access")
}

// A directory of others is not made.
func TestOwnWithoutATemporaryDirectory(t *testing.T) {
	base := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", base)
	_, err := Own(nil, environment(nil))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NoDirExists(t, base)
}

// Shared limiters are distinguished by the keys of the environment, which are not visible in the names.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(key string) string {
		return (&Share{Getenv: environment(map[string]string{"OPENAI_API_KEY": key, "GROQ_API_KEY": "same"})}).fingerprint("api.openai.com")
	}
	assert.Equal(t, of("a"), of("a"))
	assert.NotEqual(t, of("a"), of("b"))
	assert.Len(t, of(secret), 12)
	for _, quota := range []string{"OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		other := (&Share{Getenv: environment(map[string]string{"OPENAI_API_KEY": "a", quota: "x"})}).fingerprint("api.openai.com")
		assert.NotEqual(t, of("a"), other, quota)
	}
	groq := (&Share{Getenv: environment(map[string]string{"OPENAI_API_KEY": "other", "GROQ_API_KEY": "same"})}).fingerprint("openai/api.groq.com")
	assert.Equal(t, (&Share{Getenv: environment(map[string]string{"GROQ_API_KEY": "same"})}).fingerprint("api.groq.com"), groq)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A panic in the proxy, or in a page, is logged without its value.
func TestPanicsAreLogged(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary-78"
	var text wiretest.Log
	var all Options
	g := open(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&text, nil))
		o.Proxy.Base = roundTrip(func(*http.Request) (*http.Response, error) { panic(secret) })
		all = *o
	})
	status, _ := get(t, g.Base("")+"/openai/v1/models", nil)
	assert.Equal(t, http.StatusInternalServerError, status)
	at, err := g.listen(t.Context(), "--metrics", "127.0.0.1:0", &all, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(secret) }))
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at, nil)
	require.NoError(t, err)
	_, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, io.EOF)

	require.NoError(t, g.Drain(t.Context()))
	assert.Equal(t, 2, strings.Count(text.String(), "a request panicked"), text.String())
	assert.NotContains(t, text.String(), secret)
}
