package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/wiretest"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

const secret = "the-token"

// served is a dashboard on a port of its own.
type served struct {
	*Dashboard

	t        *testing.T
	url      string
	registry *registry.Registry
}

func serve(t *testing.T, c Config) *served {
	t.Helper()
	s := &served{t: t, registry: emptyRegistry(t)}
	c.Registry = s.registry
	var err error
	s.Dashboard, err = New(c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	at, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	s.url = "http://" + at.String()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

func emptyRegistry(tb testing.TB) *registry.Registry {
	tb.Helper()
	r, err := registry.New(registry.Config{})
	require.NoError(tb, err)
	return r
}

// used registers a guard and makes a call.
func (s *served) used(name string, p guard.Policy) *guard.Guard {
	s.t.Helper()
	g, err := s.registry.Register(name, p)
	require.NoError(s.t, err)
	require.NoError(s.t, g.Do(s.t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	return g
}

// answer is a response that was read.
type answer struct {
	StatusCode int
	Header     http.Header
}

// ask sends a request, changed by f.
func (s *served) ask(method, path, body string, f ...func(*http.Request)) (a answer, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for _, f := range f {
		f(req)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return answer{resp.StatusCode, resp.Header}, string(all)
}

func with(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// refused asserts that a response is an error.
func refused(t *testing.T, resp answer, text string, status int, code, message string) {
	t.Helper()
	var e Error
	require.NoError(t, json.Unmarshal([]byte(text), &e), text)
	assert.Equal(t, []any{status, code}, []any{resp.StatusCode, e.Error.Code})
	assert.Contains(t, e.Error.Message, message)
}

func TestThePageIsServed(t *testing.T) {
	s := serve(t, Config{})
	for path, kind := range map[string]string{
		"/": "text/html", "/index.html": "text/html", "/page.js": "javascript", "/chart.js": "javascript", "/uplot.js": "javascript",
		"/style.css": "text/css", "/uplot.LICENSE.txt": "text/plain",
	} {
		resp, text := s.ask(http.MethodGet, path, "")
		assert.Equal(t, http.StatusOK, resp.StatusCode, path)
		assert.Contains(t, resp.Header.Get("Content-Type"), kind, path)
		assert.NotEmpty(t, text, path)
		assert.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
		assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-cache", resp.Header.Get("Cache-Control"))
		again, _ := s.ask(http.MethodGet, path, "", func(r *http.Request) { r.Header.Set("If-None-Match", resp.Header.Get("ETag")) })
		assert.Equal(t, http.StatusNotModified, again.StatusCode, path)
	}
	resp, text := s.ask(http.MethodGet, "/", "")
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	for _, inline := range []string{"<script>", " style=", " onclick=", "javascript:", "https://"} {
		assert.NotContains(t, text, inline, "the policy forbids it")
	}
	for path, want := range map[string]int{"/handler.go": 404, "/../config.go": 404, "/api": 404, "/%2e%2e/go.mod": 404} {
		resp, _ := s.ask(http.MethodGet, path, "")
		assert.Equal(t, want, resp.StatusCode, path)
	}
}

func TestStatus(t *testing.T) {
	s := serve(t, Config{
		Title: "jobs", Token: secret, Clients: func() []Client { return []Client{{Name: "chat", Waiting: 1}} },
		Drain: func(context.Context) error { return nil },
	})
	empty := s.Status()
	assert.Equal(t, []any{"jobs", true, true, false, []Limiter{}, 0}, []any{empty.Title, empty.Actions, empty.Drains, empty.Draining, empty.Limiters, empty.More})
	g := s.used("api/gpt-4o#key1", guard.Policy{Limits: throttle.Limits{Concurrency: 3}})
	s.Observe(event.Event{Kind: event.LimiterChanged, Source: "api/gpt-4o#key1", Reason: "3 concurrent", Time: epoch})
	s.ObserveCall(event.Call{Limiter: "api/gpt-4o#key1", Outcome: "transient"})
	s.refresh(time.Now())
	resp, text := s.ask(http.MethodGet, "/api/status", "")
	assert.Equal(t, []string{"application/json", "no-store"}, []string{resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control")})
	var got Status
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	assert.Equal(t, "changed: 3 concurrent", got.Events[0].Text)
	require.NotEmpty(t, got.Limiters)
	assert.Equal(t, Limiter{
		Name: "api/gpt-4o#key1", State: Open, Why: "Nothing holds it back.", Cap: 3, Limits: "3 concurrent", Admitted: 1, Failed: 1,
	}, got.Limiters[0])
	assert.Equal(t, int64(1), g.Stats().Admitted)

	_, text = s.ask(http.MethodGet, "/api/series?limiter="+url.QueryEscape("api/gpt-4o#key1"), "")
	var c columns
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	_, text = s.ask(http.MethodGet, "/api/series?span=2h&limiter="+url.QueryEscape("api/gpt-4o#key1"), "")
	assert.Contains(t, text, `{"at":[]`)
	resp, text = s.ask(http.MethodGet, "/api/series?span=1y&limiter="+url.QueryEscape("api/gpt-4o#key1"), "")
	refused(t, resp, text, http.StatusBadRequest, "bad_request", `span: "1y" is not known: use 10m or 2h`)
	resp, text = s.ask(http.MethodGet, "/api/series?limiter=x", "")
	refused(t, resp, text, http.StatusNotFound, "unknown_limiter", `there is no limiter "x"`)
}

func TestActionsNeedTheToken(t *testing.T) {
	s := serve(t, Config{Token: secret, Drain: func(context.Context) error { t.Error("drained"); return nil }})
	g := s.used("api", guard.Policy{})
	before := g.Policy().Limits
	for _, path := range []string{"/api/limiters/api/pause", "/api/limiters/api/resume", "/api/limiters/api/limit", "/api/drain"} {
		for about, change := range map[string]func(*http.Request){
			"none":           func(*http.Request) {},
			"a wrong one":    with("the-toker"),
			"a part":         with("the-toke"),
			"more":           with(secret + "x"),
			"empty":          with(""),
			"another scheme": func(r *http.Request) { r.SetBasicAuth("", secret) },
			"in the query":   func(r *http.Request) { r.URL.RawQuery = "token=" + secret },
		} {
			resp, text := s.ask(http.MethodPost, path, `{"limits": "1/h"}`, change)
			refused(t, resp, text, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong")
			assert.NotContains(t, text, secret, about)
		}
		resp, _ := s.ask(http.MethodGet, path, "", with(secret))
		assert.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	}
	assert.True(t, g.Stats().PausedUntil.IsZero())
	assert.Equal(t, before, g.Policy().Limits)

	none := serve(t, Config{})
	none.used("api", guard.Policy{})
	for _, token := range []string{"", "x"} {
		resp, text := none.ask(http.MethodPost, "/api/limiters/api/pause", "", with(token))
		refused(t, resp, text, http.StatusForbidden, "no_token", "the dashboard was started without a token")
	}
}

// The page checks a token before it keeps it, on the machine itself too.
func TestATokenCanBeChecked(t *testing.T) {
	s := serve(t, Config{Token: secret})
	resp, text := s.ask(http.MethodGet, "/api/token", "", with(secret))
	assert.Equal(t, http.StatusNoContent, resp.StatusCode)
	assert.Empty(t, text)
	for _, change := range []func(*http.Request){func(*http.Request) {}, with("the-toker")} {
		resp, text = s.ask(http.MethodGet, "/api/token", "", change)
		refused(t, resp, text, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong")
	}
	resp, text = serve(t, Config{}).ask(http.MethodGet, "/api/token", "", with(secret))
	refused(t, resp, text, http.StatusForbidden, "no_token", "the dashboard was started without a token")
}

func TestOtherSitesAreRefused(t *testing.T) {
	s := serve(t, Config{Token: secret, Hosts: []string{"box.lan"}})
	s.used("api", guard.Policy{})
	for about, change := range map[string]func(*http.Request){
		"rebinding":     func(r *http.Request) { r.Host = "evil.example" },
		"another site":  func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"another fetch": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		for _, path := range []string{"/", "/api/status", "/api/events", "/api/limiters/api/pause"} {
			method := http.MethodGet
			if strings.HasSuffix(path, "pause") {
				method = http.MethodPost
			}
			resp, text := s.ask(method, path, "", change, with(secret))
			refused(t, resp, text, http.StatusForbidden, "forbidden", "is refused")
			assert.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"), about)
		}
	}
	box := func(r *http.Request) { r.Host = "box.lan:8788" }
	resp, _ := s.ask(http.MethodGet, "/", "", box)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	resp, text := s.ask(http.MethodGet, "/api/status", "", box)
	refused(t, resp, text, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong")
	resp, _ = s.ask(http.MethodGet, "/api/status", "", box, with(secret))
	assert.Equal(t, http.StatusOK, resp.StatusCode)
}

// A connection from another machine arrives at another address than a loopback one.
func TestOtherMachinesNeedTheToken(t *testing.T) {
	s := serve(t, Config{Token: secret})
	ask := func(path string, f ...func(*http.Request)) int {
		r := httptest.NewRequest(http.MethodGet, "http://192.168.1.4:8788"+path, nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 168, 1, 4), Port: 8788}))
		for _, f := range f {
			f(r)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	assert.Equal(t, http.StatusOK, ask("/"), "it has no data")
	for _, path := range []string{"/api/status", "/api/events", "/api/series?limiter=x"} {
		assert.Equal(t, http.StatusUnauthorized, ask(path), path)
	}
	assert.Equal(t, http.StatusOK, ask("/api/status", with(secret)))
	assert.Equal(t, http.StatusNotFound, ask("/api/series?limiter=x", with(secret)))
}

func TestPauseAndResume(t *testing.T) {
	s := serve(t, Config{Token: secret})
	g := s.used("host/pool#key1", guard.Policy{})
	at := "/api/limiters/" + url.PathEscape("host/pool#key1")
	do := func(action, body string) Limiter {
		resp, text := s.ask(http.MethodPost, at+action, body, with(secret))
		require.Equal(t, http.StatusOK, resp.StatusCode, text)
		var l Limiter
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		return l
	}
	l := do("/pause", `{"for": "90s"}`)
	assert.Equal(t, Paused, l.State)
	assert.Equal(t, g.Stats().PausedUntil.UnixNano(), l.PausedUntil.UnixNano())
	assert.LessOrEqual(t, time.Until(*l.PausedUntil), 90*time.Second)
	assert.Greater(t, time.Until(*do("/pause", "").PausedUntil), 4*time.Minute, "5 minutes are the default")
	assert.Equal(t, Open, do("/resume", "").State)
	g.Close(errors.New("over"))
	assert.Equal(t, Closed, s.Status().Limiters[0].State)
	assert.Equal(t, Open, do("/resume", "").State)
	for body, message := range map[string]string{
		`{"for": "soon"}`: `for: "soon" is not a duration`, `{"for": "-1s"}`: "is not between 0 and", `{"for": "25h"}`: "is not between 0 and 24h0m0s",
		`{"until": 1}`: "the body is not as expected", `[`: "the body is not as expected",
		`{"for": "` + strings.Repeat("9", mostBody) + `s"}`: "the body is not as expected",
	} {
		resp, text := s.ask(http.MethodPost, at+"/pause", body, with(secret))
		refused(t, resp, text, http.StatusBadRequest, "bad_request", message)
	}
	resp, text := s.ask(http.MethodPost, "/api/limiters/host/pause", "", with(secret))
	refused(t, resp, text, http.StatusNotFound, "unknown_limiter", `there is no limiter "host"`)
	assert.Nil(t, s.registry.Get("host"), "asking makes none")
}

func TestLimit(t *testing.T) {
	alone, err := guard.New(guard.Policy{Name: "alone", MaxQueue: 7})
	require.NoError(t, err)
	s := serve(t, Config{Token: secret, Guards: []*guard.Guard{alone}})
	g := s.used("api", guard.Policy{MaxQueue: 9, Limits: throttle.Limits{Concurrency: 4}})
	for name, g := range map[string]*guard.Guard{"api": g, "alone": alone} {
		at := "/api/limiters/" + name + "/limit"
		most := g.Policy().MaxQueue
		_, text := s.ask(http.MethodPost, at, `{"limits": "20/s, 8 concurrent"}`, with(secret))
		assert.Contains(t, text, `"limits":"20/s, 8 concurrent"`)
		assert.Equal(t, "20/s, 8 concurrent", g.Stats().Limits.String())
		assert.Equal(t, most, g.Policy().MaxQueue, "the rest of the policy stays")
		_, _ = s.ask(http.MethodPost, at, `{"limits": "unlimited"}`, with(secret))
		assert.Equal(t, "unlimited", g.Stats().Limits.String())
		for body, message := range map[string]string{
			`{"limits": "fast"}`: `limits: "fast": it does not begin a limit`, `{}`: "limits: it is empty", `{"limits": "0/s"}`: "limits: ", `{"limits": "-5/s"}`: "limits: ",
		} {
			resp, text := s.ask(http.MethodPost, at, body, with(secret))
			refused(t, resp, text, http.StatusBadRequest, "bad_request", message)
		}
		assert.Equal(t, "unlimited", g.Stats().Limits.String())
	}
}

// An action is an event once, also of a guard that the dashboard does not observe.
func TestActionsAreEvents(t *testing.T) {
	s := serve(t, Config{Token: secret})
	s.used("alone", guard.Policy{})
	s.used("observed", guard.Policy{Observer: s})
	for _, name := range []string{"alone", "observed"} {
		for _, action := range [][2]string{{"pause", `{"for": "2m"}`}, {"resume", ""}, {"resume", ""}, {"limit", `{"limits": "5/s"}`}, {"limit", `{"limits": "5"}`}} {
			s.ask(http.MethodPost, "/api/limiters/"+name+"/"+action[0], action[1], with(secret))
		}
		var all []string
		for _, e := range s.Status().Events {
			if e.Limiter == name {
				all = append(all, e.Text)
			}
		}
		assert.Equal(t, []string{"paused for 2m0s", "reopened: the pause was ended", "reopened", "changed: 5/s"}, all, name)
	}
}

func TestActionsAtTheSameTime(t *testing.T) {
	s := serve(t, Config{Token: secret})
	g := s.used("api", guard.Policy{MaxQueue: 9})
	var wg sync.WaitGroup
	for range 4 {
		for _, action := range [][2]string{{"pause", ""}, {"limit", `{"limits": "5/s"}`}, {"resume", ""}} {
			wg.Go(func() {
				resp, text := s.ask(http.MethodPost, "/api/limiters/api/"+action[0], action[1], with(secret))
				assert.Equal(t, http.StatusOK, resp.StatusCode, text)
			})
		}
	}
	wg.Wait()
	assert.Equal(t, []any{"5/s", 9}, []any{s.registry.Get("api").Policy().Limits.String(), g.Policy().MaxQueue})
}

func TestDrain(t *testing.T) {
	var drained atomic.Int32
	begun := make(chan struct{})
	s := serve(t, Config{Token: secret, Drain: func(ctx context.Context) error {
		drained.Add(1)
		close(begun)
		<-ctx.Done() // Close ends it
		panic("a bad drain")
	}})
	for range 3 {
		resp, text := s.ask(http.MethodPost, "/api/drain", "", with(secret))
		assert.Equal(t, http.StatusAccepted, resp.StatusCode)
		assert.Contains(t, text, `"draining":true`)
	}
	<-begun
	s.Close()
	assert.Equal(t, int32(1), drained.Load())

	var own atomic.Pointer[served]
	closed := make(chan struct{})
	s = serve(t, Config{Token: secret, Drain: func(context.Context) error { own.Load().Close(); close(closed); return nil }})
	own.Store(s)
	resp, text := s.ask(http.MethodPost, "/api/drain", "", with(secret))
	assert.Equal(t, http.StatusAccepted, resp.StatusCode, "%s: the answer arrives, although the program ends", text)
	<-closed

	s = serve(t, Config{Token: secret})
	resp, text = s.ask(http.MethodPost, "/api/drain", "", with(secret))
	refused(t, resp, text, http.StatusNotFound, "no_drain", "this program cannot be drained")
}

func TestUserCodeThatPanics(t *testing.T) {
	s := serve(t, Config{Clients: func() []Client { panic("no clients") }, Keys: func() []Key { panic("no keys") }})
	s.look(time.Now().Add(time.Minute))
	assert.Empty(t, s.Status().Clients)
	assert.Empty(t, s.Status().Keys)
}

// What a provider answers may repeat the key, and what callers send has it.
func TestNoSecrets(t *testing.T) {
	const key = "sk-canary-0123456789"
	s := serve(t, Config{Token: secret})
	answer := func(status int) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			text := `{"error": {"message": "key ` + key + ` has no money", "type": "insufficient_quota", "code": "insufficient_quota"}}`
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})
	}
	for host, status := range map[string]int{"api.openai.com": 429, "api.anthropic.com": 402, "example.com": 401} {
		client := http.Client{Transport: headrace.Transport(answer(status), "", headrace.WithRegistry(s.registry), headrace.With(guard.Policy{Observer: s}))}
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+host+"/v1/chat/completions?api_key="+key, strings.NewReader(`{"model": "x"}`))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+key)
			if resp, err := client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	status, err := json.Marshal(s.Status())
	require.NoError(t, err)
	_, body := s.ask(http.MethodGet, "/api/status", "", with(secret))
	assert.Contains(t, body, "api.openai.com")
	assert.Contains(t, body, `"closed"`)
	for _, text := range []string{string(status), body} {
		assert.NotContains(t, text, key)
		assert.NotContains(t, text, secret)
	}
	assert.False(t, bytes.Contains(status, []byte("no money")), "%s", status)
}

// No request without the token changes anything, or reads anything from another machine, and none panics.
func FuzzRequests(f *testing.F) {
	d, err := New(Config{Token: secret, Registry: emptyRegistry(f), Drain: func(context.Context) error { panic("drained") }})
	require.NoError(f, err)
	f.Cleanup(d.Close)
	g, err := d.registry.Register("api", guard.Policy{})
	require.NoError(f, err)
	f.Add("GET", "/", "localhost", "", "", "", true)
	f.Add("GET", "/api/status", "127.0.0.1:8788", "http://127.0.0.1:8788", "Bearer x", "", false)
	f.Add("POST", "/api/limiters/api/pause", "localhost", "", "Bearer the-tokem", `{"for": "5m"}`, true)
	f.Add("POST", "/api/limiters/%61pi/limit", "box.lan", "null", "bearer the-token ", `{"limits": "1/h"}`, true)
	f.Add("POST", "//api/./drain", "[::1]:1", "", "", "", true)
	f.Add("GET", "/api/series?limiter=api&span=10m&span=x", "localhost", "", "", "", false)
	f.Fuzz(func(t *testing.T, method, target, host, origin, token, body string, local bool) {
		if _, given, _ := strings.Cut(token, " "); given == secret || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/api/events") {
			t.Skip()
		}
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip()
		}
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		ip := net.IPv4(127, 0, 0, 1)
		if !local {
			ip = net.IPv4(10, 0, 0, 1)
		}
		r := (&http.Request{
			Method: method, URL: u, RequestURI: target, Host: host, Header: http.Header{"Authorization": {token}}, Body: io.NopCloser(strings.NewReader(body)),
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}).WithContext(context.WithValue(ctx, http.LocalAddrContextKey, &net.TCPAddr{IP: ip, Port: 8788}))
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code < 300 && method != http.MethodGet && method != http.MethodHead {
			t.Errorf("%s %s has status %d", method, target, w.Code)
		}
		if w.Code == http.StatusOK && !local && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s is read from another machine", target)
		}
		if strings.Contains(w.Body.String(), secret) {
			t.Error("the token is shown")
		}
		if p := g.Policy(); len(p.Limits.Windows) > 0 || !g.Stats().PausedUntil.IsZero() {
			t.Errorf("%s %s changed the limiter", method, target)
		}
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewReportsAllProblems(t *testing.T) {
	_, err := New(Config{Guards: []*guard.Guard{nil}, Token: "two words", Hosts: []string{"", "http://box", "box:1"}})
	var e *fault.FieldError
	require.ErrorAs(t, err, &e)
	for _, field := range []string{"Guards[0]", "Token", "Hosts[0]", "Hosts[1]", "Hosts[2]"} {
		assert.ErrorContains(t, err, "dashboard: "+field+": ")
	}
	assert.NotContains(t, err.Error(), "two words")
}

func TestListen(t *testing.T) {
	_, err := Serve(t.Context(), "0.0.0.0:0")
	require.EqualError(t, err, "dashboard: 0.0.0.0 can be reached from other machines: listen on 127.0.0.1, or set a token")

	ctx, end := context.WithCancel(t.Context())
	d, err := Serve(ctx, "127.0.0.1:0")
	require.NoError(t, err)
	defer d.Close()
	at, err := d.Listen(t.Context(), "localhost:0")
	require.NoError(t, err)
	_, err = d.Listen(t.Context(), at.String())
	require.ErrorContains(t, err, "use another address, such as 127.0.0.1:0 for a free port")
	end()
	d.Close()
	d.Close()
	_, err = d.Listen(t.Context(), "127.0.0.1:0")
	require.ErrorIs(t, err, errClosed)
	_, err = net.DialTimeout("tcp", at.String(), time.Second)
	require.Error(t, err, "nothing listens any more")
}

// A panic in a request to Listen is logged, without its value.
func TestPanicsAreLogged(t *testing.T) {
	var text wiretest.Log
	s := serve(t, Config{Log: slog.New(slog.NewTextHandler(&text, nil))})
	s.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic(secret) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/panic", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorIs(t, err, io.EOF)
	assert.Contains(t, text.String(), "a request panicked")
	assert.Contains(t, text.String(), "TestPanicsAreLogged")
	assert.NotContains(t, text.String(), secret)
}
