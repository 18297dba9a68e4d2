package httpclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/httpclient"
)

// gateTo lets the ports of servers on loopback through.
func gateTo(t *testing.T, servers ...string) *httpclient.Gate {
	t.Helper()
	gate := &httpclient.Gate{
		Schemes:       []string{"http", "https"},
		Allow:         []string{"127.0.0.1", "localhost", "rebind.example.com"},
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	}
	for _, server := range servers {
		u, err := url.Parse(server)
		require.NoError(t, err)
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		require.NoError(t, err)
		gate.Ports = append(gate.Ports, uint16(port))
	}
	return gate
}

// seen is what servers were asked, in order.
type seen struct {
	mu  sync.Mutex
	all []*http.Request
	got []string // the bodies
}

func (s *seen) note(r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.got = append(s.all, r), append(s.got, string(text))
}

// script serves paths: a status and a Location each; other paths answer with "end".
func script(t *testing.T, s *seen, status int, redirects map[string]string) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		if to, ok := redirects[r.URL.Path]; ok {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.Repeat("moved ", 1000))
			return
		}
		_, _ = io.WriteString(w, "end")
	})
}

// follow reads the last answer.
func follow(t *testing.T, c *httpclient.Client, req *http.Request, f httpclient.Follow) (string, []httpclient.Hop, error) {
	t.Helper()
	resp, trail, err := c.FollowAudited(req, f)
	if err != nil {
		assert.Nil(t, resp)
		return "", trail, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body), trail, nil
}

func gated(t *testing.T, gate *httpclient.Gate, change func(*httpclient.Config)) *httpclient.Client {
	t.Helper()
	return newClient(t, func(c *httpclient.Config) {
		c.Gate = gate
		if change != nil {
			change(c)
		}
	})
}

func TestFollowAudited(t *testing.T) {
	var asked seen
	s := script(t, &asked, http.StatusFound, map[string]string{"/a/b": "c?key=canary", "/a/c": "../d"})
	var told requests
	c := gated(t, gateTo(t, s.URL), func(c *httpclient.Config) { c.Observer, c.FailOnRedirect = &told, true })
	req := request(t, "GET", s.URL+"/a/b", nil)
	req.Header.Set("X-Api-Key", "mine-for-this-origin")
	body, trail, err := follow(t, c, req, httpclient.Follow{})
	require.NoError(t, err)
	assert.Equal(t, "end", body)
	require.Len(t, trail, 3)
	require.Len(t, told.all, 3)
	for i, want := range []httpclient.Hop{
		{Method: "GET", URL: s.URL + "/a/b", Status: 302},
		{Method: "GET", URL: s.URL + "/a/c?key=REDACTED", Status: 302},
		{Method: "GET", URL: s.URL + "/d", Status: 200},
	} {
		e := told.all[i].Request
		assert.NotEmpty(t, trail[i].ID)
		assert.Equal(t, e.ID, trail[i].ID)
		assert.Equal(t, asked.all[i].Header.Get("X-Correlation-Id"), trail[i].ID)
		assert.Equal(t, want.URL, e.URL)
		assert.Equal(t, i > 0, e.Reused, "what is left of a redirect is read")
		assert.Equal(t, 1, told.all[i].Attempt)
		assert.Equal(t, "mine-for-this-origin", asked.all[i].Header.Get("X-Api-Key"))
		trail[i].ID = ""
		assert.Equal(t, want, trail[i])
	}
	assert.NotEqual(t, told.all[0].Request.ID, told.all[1].Request.ID)
	assert.Equal(t, http.Header{"X-Api-Key": {"mine-for-this-origin"}}, req.Header, "the caller's request is left alone")
}

// Every way in which a client has credentials, to another port, to another name of the same address, and back again.
func TestFollowCarriesNoCredentialsAway(t *testing.T) {
	for name, other := range map[string]func(string) string{
		"port": func(b string) string { return b },
		"name": func(b string) string { return strings.Replace(b, "127.0.0.1", "localhost", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			var atA, atB seen
			routesA, routesB := map[string]string{}, map[string]string{}
			a, b := script(t, &atA, http.StatusTemporaryRedirect, routesA), script(t, &atB, http.StatusTemporaryRedirect, routesB)
			routesA["/start"] = "/second"
			routesA["/second"] = other(b.URL) + "/there"
			routesB["/there"] = a.URL + "/back"
			var told requests
			c := gated(t, gateTo(t, a.URL, b.URL), func(c *httpclient.Config) {
				c.Observer = &told
				c.Sign = func(r *http.Request) error {
					r.Header.Set("Authorization", "Bearer "+canary+"-signed")
					r.URL.RawQuery = "sig=" + canary
					return nil
				}
				c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
					return tripper(func(r *http.Request) (*http.Response, error) {
						r = r.Clone(r.Context())
						r.Header.Set("Api-Key", canary+"-wrapped")
						r.Trailer = http.Header{"X-Wrapped": {canary}}
						return next.RoundTrip(r)
					})
				}}
			})
			req := request(t, "GET", a.URL+"/start?page=1#"+canary, nil)
			req.Host = "" // as http.NewRequest sets it, it would be the URL's
			for _, h := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Referer", "Www-Authenticate", "X-New"} {
				req.Header.Set(h, canary+"-"+h)
			}
			req.Header.Set("Accept", "text/plain")
			body, trail, err := follow(t, c, req, httpclient.Follow{})
			require.NoError(t, err)
			assert.Equal(t, "end", body)
			bare := make([]bool, len(trail))
			for i, hop := range trail {
				bare[i] = hop.Bare
			}
			assert.Equal(t, []bool{false, false, true, true}, bare)

			require.Len(t, atA.all, 3)
			for _, r := range atA.all[:2] {
				assert.Equal(t, "Bearer "+canary+"-signed", r.Header.Get("Authorization"))
				assert.Equal(t, canary+"-wrapped", r.Header.Get("Api-Key"))
				assert.Equal(t, canary+"-X-New", r.Header.Get("X-New"))
				assert.Equal(t, "sig="+canary, r.URL.RawQuery)
			}
			require.Len(t, atB.all, 1)
			for _, r := range []*http.Request{atB.all[0], atA.all[2]} {
				assert.NotContains(t, fmt.Sprint(r.Header, r.URL, r.Trailer), canary)
				assert.Equal(t, "text/plain", r.Header.Get("Accept"))
				assert.NotEmpty(t, r.Header.Get("User-Agent"))
			}
			assert.NotContains(t, fmt.Sprintf("%+v", trail), canary)
			for _, e := range told.all {
				assert.NotContains(t, fmt.Sprintf("%+v", *e.Request), canary)
			}
		})
	}
}

// Trailers go where the body goes, and not to other origins, nor back from there.
func TestFollowSendsNoTrailersAway(t *testing.T) {
	var atA, atB seen
	routesA, routesB := map[string]string{}, map[string]string{}
	a, b := script(t, &atA, http.StatusTemporaryRedirect, routesA), script(t, &atB, http.StatusTemporaryRedirect, routesB)
	routesA["/start"], routesB["/there"] = b.URL+"/there", a.URL+"/back"
	c := gated(t, gateTo(t, a.URL, b.URL), func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Trailer = http.Header{"X-Wrapped": {canary}}
				return next.RoundTrip(r)
			})
		}}
	})
	req := request(t, "POST", a.URL+"/start", strings.NewReader("text"))
	req.ContentLength = -1 // only a body in chunks has trailers
	_, _, err := follow(t, c, req, httpclient.Follow{BodyToOthers: true})
	require.NoError(t, err)
	require.Len(t, atA.all, 2)
	require.Len(t, atB.all, 1)
	assert.Equal(t, canary, atA.all[0].Trailer.Get("X-Wrapped"))
	assert.Equal(t, []string{"text", "text"}, append(atA.got[1:], atB.got...))
	assert.Empty(t, atB.all[0].Trailer)
	assert.Empty(t, atA.all[1].Trailer, "bare on the way back")
}

// A server that sends on what it was given.
func TestFollowRepeatsNoSecret(t *testing.T) {
	secret := canary + "-bearer"
	for name, to := range map[string]func(r *http.Request, b string) string{
		"in the query": func(r *http.Request, b string) string { return b + "/?" + r.URL.RawQuery },
		"in the path":  func(r *http.Request, b string) string { return b + "/" + r.Header.Get("X-Api-Key") },
		"as userinfo": func(r *http.Request, b string) string {
			return strings.Replace(b, "://", "://u:"+r.Header.Get("X-Api-Key")+"@", 1)
		},
		"as the name of a host": func(r *http.Request, _ string) string {
			return "http://" + r.Header.Get("X-Api-Key") + ".evil.example/"
		},
		"as no URL": func(r *http.Request, _ string) string { return "http://%zz/" + r.Header.Get("X-Api-Key") },
		"at home":   func(r *http.Request, _ string) string { return "/home/" + r.Header.Get("X-Api-Key") },
	} {
		t.Run(name, func(t *testing.T) {
			var told requests
			b := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, "/home/") {
					w.Header()["Location"] = []string{to(r, b.URL)}
				}
				w.WriteHeader(http.StatusFound)
			})
			c := gated(t, gateTo(t, a.URL, b.URL), func(c *httpclient.Config) {
				c.Observer = &told
				c.Sign = func(r *http.Request) error {
					r.URL.RawQuery = "key=" + secret
					return nil
				}
			})
			req := request(t, "GET", a.URL, nil)
			req.Header.Set("X-Api-Key", secret)
			_, trail, err := follow(t, c, req, httpclient.Follow{})
			assert.ErrorIs(t, err, httpclient.CodeRedirect)
			noCanary(t, err)
			assert.NotEmpty(t, ruleOf(t, err))
			assert.NotContains(t, fmt.Sprintf("%+v", trail), canary)
			for _, e := range told.all {
				noCanary(t, e.Err)
				assert.NotContains(t, fmt.Sprintf("%+v", *e.Request), canary)
			}
		})
	}
}

func TestFollowRefuses(t *testing.T) {
	for _, tc := range []struct {
		to   string // "A": the first server, "B": the other
		rule httpclient.Rule
		hops int // in the trail
	}{
		{"http://169.254.169.254/latest", httpclient.RuleNotAllowed, 2},
		{"http://u:pw@127.0.0.1/", httpclient.RuleUserinfo, 2},
		{"ftp://127.0.0.1/", httpclient.RuleScheme, 2},
		{"//127.0.0.1:1/", httpclient.RulePort, 2},
		{"http://127.1/", httpclient.RuleHost, 2},
		{"A/x", httpclient.RuleLoop, 2},
		{"A/start", httpclient.RuleLoop, 1},
		{"", httpclient.RuleLocation, 1},
		{"http://[::1", httpclient.RuleLocation, 1},
		{"B/0", httpclient.RuleHops, 5},
	} {
		var asked seen
		routes := map[string]string{"/x": "/x"}
		for i := range 9 {
			routes["/"+strconv.Itoa(i)] = "/" + strconv.Itoa(i+1)
		}
		a, b := script(t, &asked, http.StatusFound, routes), script(t, &asked, http.StatusFound, routes)
		routes["/start"] = strings.NewReplacer("A", a.URL, "B", b.URL).Replace(tc.to)
		var told requests
		c := gated(t, gateTo(t, a.URL, b.URL), func(c *httpclient.Config) { c.Observer = &told })
		_, trail, err := follow(t, c, request(t, "GET", a.URL+"/start", nil), httpclient.Follow{MaxHops: 4})
		failed := failure(t, err)
		assert.Equal(t, httpclient.CodeRedirect, failed.Code, tc.to)
		assert.Equal(t, tc.rule, ruleOf(t, err), tc.to)
		assert.Len(t, trail, tc.hops, tc.to)
		assert.Len(t, told.all, tc.hops, tc.to)
		assert.NotContains(t, err.Error(), "pw", tc.to)
		last := trail[len(trail)-1]
		assert.Equal(t, last.ID, failed.ID, tc.to)
		assert.Equal(t, last.URL, failed.URL, tc.to)
		assert.Equal(t, last.Status, failed.StatusCode, tc.to)
		if last.Status == 0 { // the target was refused, and nothing went there
			assert.Len(t, asked.all, tc.hops-1, tc.to)
			assert.Zero(t, failed.Attempt, tc.to)
			assert.Equal(t, httpclient.PhasePrepare, failed.Phase, tc.to)
			assert.ErrorIs(t, told.all[len(told.all)-1].Err, httpclient.CodeRedirect, tc.to)
		} else {
			assert.Equal(t, 1, failed.Attempt, tc.to)
			assert.Equal(t, httpclient.PhaseBody, failed.Phase, tc.to)
		}
	}
}

func TestFollowGoesNoFurtherThanTheDefault(t *testing.T) {
	n := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		http.Redirect(w, r, "/"+strconv.Itoa(n), http.StatusFound)
	})
	_, trail, err := follow(t, gated(t, gateTo(t, s.URL), nil), request(t, "GET", s.URL, nil), httpclient.Follow{})
	assert.Equal(t, httpclient.RuleHops, ruleOf(t, err))
	assert.Len(t, trail, 11)
}

func TestFollowNeverDowngrades(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	s, trust := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL, http.StatusFound) })
	_, trail, err := follow(t, gated(t, gateTo(t, s.URL, plain.URL), trust), request(t, "GET", s.URL, nil), httpclient.Follow{})
	assert.Equal(t, httpclient.RuleDowngrade, ruleOf(t, err))
	assert.Len(t, trail, 1)
}

func TestFollowWithABody(t *testing.T) {
	once := func(text string) io.Reader { return struct{ io.Reader }{strings.NewReader(text)} }
	for _, tc := range []struct {
		name   string
		status int
		body   io.Reader
		away   bool
		others bool
		want   []string // "method body" as seen, the last with its Content-Type
		rule   httpclient.Rule
	}{
		{"303", 303, strings.NewReader("text"), false, false, []string{"POST text", "GET  "}, ""},
		{"302, once", 302, once("text"), false, false, []string{"POST text", "GET  "}, ""},
		{"307", 307, strings.NewReader("text"), false, false, []string{"POST text", "POST text text/x"}, ""},
		{"308", 308, strings.NewReader("text"), false, false, []string{"POST text", "POST text text/x"}, ""},
		{"307, once", 307, once("text"), false, false, []string{"POST text"}, httpclient.RuleBody},
		{"307 away", 307, strings.NewReader("text"), true, false, []string{"POST text"}, httpclient.RuleBody},
		{"307 away, if it may", 307, strings.NewReader("text"), true, true, []string{"POST text", "POST text text/x"}, ""},
		{"303 away", 303, strings.NewReader("text"), true, false, []string{"POST text", "GET  "}, ""},
		{"307 without", 307, nil, true, false, []string{"POST ", "POST  text/x"}, ""},
	} {
		var asked seen
		routes := map[string]string{"/start": "/end"}
		a, b := script(t, &asked, tc.status, routes), script(t, &asked, tc.status, nil)
		if tc.away {
			routes["/start"] = b.URL + "/end"
		}
		req := request(t, "POST", a.URL+"/start", tc.body)
		req.Header.Set("Content-Type", "text/x")
		_, trail, err := follow(t, gated(t, gateTo(t, a.URL, b.URL), nil), req, httpclient.Follow{BodyToOthers: tc.others})
		assert.Equal(t, tc.rule, ruleOf(t, err), tc.name)
		got := make([]string, len(asked.all))
		for i, r := range asked.all {
			got[i] = r.Method + " " + asked.got[i]
			if i > 0 {
				got[i] += " " + r.Header.Get("Content-Type")
			}
		}
		if tc.body == nil {
			tc.want[1] = "POST  " // net/http has none of a request without body
			got[1] = strings.TrimSuffix(got[1], "text/x")
		}
		assert.Equal(t, tc.want, got, tc.name)
		assert.Len(t, trail, len(tc.want), tc.name)
	}
}

func TestFollowWhoseBodyCannotBeHadAgain(t *testing.T) {
	var asked seen
	s := script(t, &asked, http.StatusTemporaryRedirect, map[string]string{"/": "/end"})
	req := request(t, "POST", s.URL, strings.NewReader("text"))
	gone := errors.New("gone")
	req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
	_, _, err := follow(t, gated(t, gateTo(t, s.URL), nil), req, httpclient.Follow{})
	assert.ErrorIs(t, err, gone)
	assert.ErrorIs(t, err, httpclient.CodeRedirect)
}

// A round tripper may answer without a body.
func TestFollowWithoutAnyBody(t *testing.T) {
	c := gated(t, &httpclient.Gate{}, func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/end" {
					return &http.Response{StatusCode: http.StatusNotModified}, nil
				}
				return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"/end"}}}, nil
			})
		}}
	})
	resp, trail, err := c.FollowAudited(request(t, "GET", "https://h.example/", nil), httpclient.Follow{})
	require.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
	assert.Len(t, trail, 2)
	assert.Equal(t, http.StatusNotModified, resp.StatusCode, "no redirect")
}

// closing records that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestFollowUnsent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	open, strict := newClient(t, nil), gated(t, &httpclient.Gate{}, nil)
	for _, tc := range []struct {
		name   string
		c      *httpclient.Client
		url    string
		follow httpclient.Follow
		says   string
	}{
		{"no gate", open, s.URL, httpclient.Follow{}, "Gate: is nil"},
		{"negative", strict, "https://h.example/", httpclient.Follow{MaxHops: -1}, "Follow.MaxHops: -1"},
		{"refused", strict, s.URL, httpclient.Follow{}, `"scheme"`},
		{"userinfo", strict, "https://u:canary@h.example", httpclient.Follow{}, `"userinfo"`},
	} {
		body := &closing{Reader: strings.NewReader("x")}
		_, _, err := follow(t, tc.c, request(t, "POST", tc.url, body), tc.follow)
		assert.ErrorIs(t, err, httpclient.CodeUnsent, tc.name)
		assert.ErrorContains(t, err, tc.says, tc.name)
		assert.NotContains(t, err.Error(), "canary")
		assert.True(t, body.closed, tc.name)
	}
	_, _, err := follow(t, strict, &http.Request{}, httpclient.Follow{})
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.ErrorContains(t, err, "Request.URL")
}

// What round trippers do to a hop to another origin is either taken back or refused.
func TestFollowHoldsWrapToItsPlace(t *testing.T) {
	var asked seen
	routes := map[string]string{}
	a, b := script(t, &asked, http.StatusFound, routes), script(t, &asked, http.StatusFound, nil)
	routes["/"] = b.URL + "/end"
	for name, change := range map[string]func(*http.Request){
		"the query": func(r *http.Request) { r.URL.RawQuery = "key=" + canary },
		"the host":  func(r *http.Request) { r.URL.Host = "localhost:1" },
		"the Host":  func(r *http.Request) { r.Host = "localhost" },
	} {
		asked = seen{}
		c := gated(t, gateTo(t, a.URL, b.URL), func(c *httpclient.Config) {
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/end" {
						r = r.Clone(r.Context())
						change(r)
					}
					return next.RoundTrip(r)
				})
			}}
		})
		_, _, err := follow(t, c, request(t, "GET", a.URL+"/", nil), httpclient.Follow{})
		assert.Equal(t, httpclient.RuleWrap, ruleOf(t, err), name)
		assert.ErrorIs(t, err, httpclient.CodeRedirect, name)
		assert.Len(t, asked.all, 1, name)
		noCanary(t, err)
	}
}

// A gate is for every request, and for what Wrap and Sign make of it.
func TestGatedClient(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := func(c *httpclient.Config) { c.Gate = gateTo(t, s.URL) }
	require.NoError(t, get(t, newClient(t, port), s.URL))
	err := get(t, newClient(t, func(c *httpclient.Config) {
		c.Gate = &httpclient.Gate{Schemes: []string{"http"}}
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
			return tripper(func(*http.Request) (*http.Response, error) {
				t.Error("it costs no quota")
				return nil, io.EOF
			})
		}}
	}), s.URL)
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.Equal(t, httpclient.RulePort, ruleOf(t, err))

	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	err = get(t, newClient(t, func(c *httpclient.Config) {
		port(c)
		c.Breaker = b
		c.Sign = func(r *http.Request) error { r.URL.Host = "10.0.0.1"; return nil }
	}), s.URL)
	assert.ErrorIs(t, err, httpclient.CodeUnsent)
	assert.Equal(t, httpclient.RuleNotAllowed, ruleOf(t, err))
	assert.Equal(t, breaker.Closed, b.Stats().State)

	req := request(t, "GET", s.URL, nil)
	req.Host = "169.254.169.254" // where a proxy would go
	resp, err := newClient(t, port).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	assert.Equal(t, httpclient.RuleNotAllowed, ruleOf(t, err))

	resp, err = newClient(t, port).Standard().Get("http://127.0.0.1:1/")
	if err == nil {
		resp.Body.Close()
	}
	assert.Equal(t, httpclient.RulePort, ruleOf(t, err))
}

// The type of a refused redirect comes through http.Client, as SDKs use it.
func TestStandardFailsOnRedirectWithAType(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x?key="+canary, http.StatusFound) })
	c := newClient(t, func(c *httpclient.Config) { c.FailOnRedirect = true })
	resp, err := c.Standard().Do(request(t, "GET", s.URL, nil))
	if err == nil {
		resp.Body.Close()
	}
	var outside *url.Error
	require.True(t, errors.As(err, &outside))
	var failed *httpclient.Error
	require.True(t, errors.As(err, &failed))
	assert.Equal(t, httpclient.CodeRedirect, failed.Code)
	assert.Equal(t, http.StatusFound, failed.StatusCode)
	assert.ErrorIs(t, err, httpclient.CodeRedirect)
	noCanary(t, err)
}
