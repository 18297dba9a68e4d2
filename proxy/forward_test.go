package proxy_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// received is a request as the upstream has it.
type received struct {
	method, host, target, body string
	length                     int64
	coding                     []string
	header                     http.Header
}

// exchanged is what both ends see of one request through a proxy.
type exchanged struct {
	received

	status          int
	answer, trailer http.Header
	text            string
	broken          bool
	early           []http.Header
	announced       []string // trailers
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// through sends a request with the given headers, and returns what both ends saw.
func through(t *testing.T, method, body string, h http.Header, answer http.HandlerFunc) (x exchanged) {
	t.Helper()
	arrived := make(chan received, 1)
	s := open(t, proxy.Config{Origins: []string{"https://app.test"}, Policy: once}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		arrived <- received{r.Method, strings.Split(r.Host, ":")[0], r.RequestURI, string(b), r.ContentLength, r.TransferEncoding, r.Header.Clone()}
		answer(w, r)
	}))
	r := s.request(t, method, "/up/v1/a%20b?c=d", body)
	maps.Copy(r.Header, h)
	r = r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
		x.early = append(x.early, http.Header(h))
		return nil
	}}))
	resp, err := s.http.Do(r)
	require.NoError(t, err)
	x.received = <-arrived
	defer resp.Body.Close()
	x.announced = slices.Sorted(maps.Keys(resp.Trailer))
	b, err := io.ReadAll(resp.Body)
	x.status, x.answer, x.trailer, x.text, x.broken = resp.StatusCode, resp.Header, resp.Trailer, string(b), err != nil
	x.text = port.ReplaceAllString(x.text, "127.0.0.1:1")
	x.answer.Del("Date")
	x.answer.Del("X-Headrace-Waited")
	return x
}

// A request that needs nothing special is passed on without httputil.ReverseProxy.
// Both ends see what they would see of one that it passes on, as it does if a
// header of the connection is listed.
func TestAnySimpleRequestIsPassedOnAsByAReverseProxy(t *testing.T) {
	set := func(of http.ResponseWriter, headers ...string) {
		for i := 0; i < len(headers); i += 2 {
			of.Header().Add(headers[i], headers[i+1])
		}
	}
	const data = `{"a":1}`
	for name, c := range map[string]struct {
		method, body string
		header       http.Header
		answer       http.HandlerFunc
	}{
		"JSON": {http.MethodPost, `{"model":"m"}`, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Content-Type", "application/json", "X-Two", "1", "X-Two", "2", "Set-Cookie", "a=b")
			_, _ = io.WriteString(w, data)
		}},
		"no body": {http.MethodGet, "", nil, func(http.ResponseWriter, *http.Request) {}},
		"HEAD": {http.MethodHead, "", nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Content-Length", "7")
		}},
		"204": {http.MethodDelete, "", nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		"304": {http.MethodGet, "", nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Etag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		}},
		"an error": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, data)
		}},
		"headers of the connection": {
			http.MethodPost, data,
			http.Header{"Keep-Alive": {"5"}, "Proxy-Connection": {"keep-alive"}, "Proxy-Authorization": {"Basic x"}, "Trailer": {"X-None"}},
			func(w http.ResponseWriter, _ *http.Request) {
				set(w, "Connection", "X-Own, close", "X-Own", "1", "Keep-Alive", "5", "Proxy-Authenticate", "Basic", "X-Other", "2")
				_, _ = io.WriteString(w, data)
			},
		},
		"headers of the proxy": {
			http.MethodPost, data,
			http.Header{"X-Headrace-Client": {"me"}, "Cookie": {"a=b"}, "X-Forwarded-For": {"10.0.0.1"}, "X-Two": {"1", "2"}, "User-Agent": {""}},
			func(w http.ResponseWriter, _ *http.Request) {
				set(w, "X-Headrace-Error", "upstream", "Access-Control-Allow-Origin", "*", "X-Api-Key", "k")
			},
		},
		"trailers are wanted": {http.MethodPost, data, http.Header{"Te": {"trailers"}}, func(http.ResponseWriter, *http.Request) {}},
		"the credential in the answer": {http.MethodPost, data, http.Header{"X-Api-Key": {"sk-canary-0001"}}, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "X-Echo", "the key was sk-canary-0001", "X-Fine", "1")
		}},
		"a page of an allowed origin": {http.MethodPost, data, http.Header{"Origin": {"https://app.test"}}, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Vary", "Accept-Encoding")
		}},
		"a redirect": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Location", "/v1/other")
			w.WriteHeader(http.StatusCreated)
		}},
		"announced trailers": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Trailer", "X-Sum")
			_, _ = io.WriteString(w, data)
			set(w, "X-Sum", "1")
		}},
		"trailers": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, data)
			_ = http.NewResponseController(w).Flush()
			set(w, http.TrailerPrefix+"X-Sum", "1")
		}},
		"events": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, "data: {}\n\n")
		}},
		"no length": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, data)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, data)
		}},
		"a long answer": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 200<<10))
		}},
		"informational": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Link", "</a>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			set(w, "Content-Type", "text/plain")
			_, _ = io.WriteString(w, data)
		}},
		"broken off": {http.MethodPost, data, nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Content-Length", "300000")
			_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
			panic(http.ErrAbortHandler)
		}},
		"no answer": {http.MethodPost, data, nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"another protocol": {http.MethodGet, "", nil, func(w http.ResponseWriter, _ *http.Request) {
			set(w, "Upgrade", "other", "Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			listed := http.Header{"Connection": {"X-None"}}
			maps.Copy(listed, c.header)
			want := through(t, c.method, c.body, listed, c.answer)
			assert.Equal(t, want, through(t, c.method, c.body, c.header, c.answer))
		})
	}
}

// noting keeps the header of the last request.
type noting struct {
	answering

	sent http.Header
}

func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	n.sent = r.Header
	return n.answering.RoundTrip(r)
}

// The header of a request is that of the upstream's, without a copy, only if all of it is sent. Neither is changed.
func TestTheHeaderOfARequestIsNotChanged(t *testing.T) {
	base := &noting{}
	g, err := registry.New(registry.Config{})
	require.NoError(t, err)
	p, err := proxy.New(proxy.Config{Base: base, Registry: g, Upstreams: map[string]proxy.Upstream{"up": {URL: "http://up.test"}}})
	require.NoError(t, err)
	for name, c := range map[string]struct{ header, want http.Header }{
		"all":              {http.Header{"User-Agent": {"u"}, "Accept": {"a"}}, http.Header{"User-Agent": {"u"}, "Accept": {"a"}}},
		"the proxy's":      {http.Header{"User-Agent": {"u"}, "X-Headrace-Priority": {"batch"}}, http.Header{"User-Agent": {"u"}}},
		"the connection's": {http.Header{"User-Agent": {"u"}, "Connection": {"close"}}, http.Header{"User-Agent": {"u"}}},
		"no user agent":    {http.Header{"Accept": {"a"}}, http.Header{"Accept": {"a"}, "User-Agent": {""}}},
		"a coding":         {http.Header{"User-Agent": {"u"}, "Accept-Encoding": {"gzip"}}, http.Header{"User-Agent": {"u"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/up/v1", strings.NewReader("{}"))
			r.Host, r.Header = "localhost", c.header.Clone()
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, c.want, base.sent)
			assert.Equal(t, c.header, r.Header)
		})
	}
}

// The header of a stream is there before its first event, and no answer that breaks
// off looks whole.
func TestTheHeaderOfAStreamIsFlushed(t *testing.T) {
	for name, key := range map[string]string{"alone": "", "joinable": "k1"} {
		t.Run(name, func(t *testing.T) {
			more := make(chan struct{})
			s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				<-more
				_, _ = io.WriteString(w, "data: {}\n\n")
			}))
			resp, err := s.http.Do(s.request(t, http.MethodPost, "/up/v1", `{}`, "Idempotency-Key", key))
			close(more)
			require.NoError(t, err)
			defer resp.Body.Close()
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "data: {}\n\n", string(b))
		})
	}
}

// hinted is a proxy before a base that is asked to send an informational response, and
// a ResponseWriter for it.
func hinted(t *testing.T, base roundTrip) (*proxy.Proxy, *statuses) {
	t.Helper()
	r, err := registry.New(registry.Config{})
	require.NoError(t, err)
	p, err := proxy.New(proxy.Config{Base: base, Registry: r, Policy: once, Upstreams: map[string]proxy.Upstream{"up": {URL: "http://127.0.0.1:1"}}})
	require.NoError(t, err)
	return p, &statuses{ResponseRecorder: httptest.NewRecorder()}
}

// What an answer lists as headers of its connection is not returned.
func TestHeadersOfTheUpstreamsConnection(t *testing.T) {
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Connection": {"x-own, X-Too", "keep-alive"}, "X-Own": {"1"}, "X-Too": {"2"}, "X-Other": {"3"}}
		return &http.Response{StatusCode: http.StatusOK, Header: h, Body: http.NoBody, Request: r}, nil
	})
	p.ServeHTTP(w, incoming())
	assert.Empty(t, w.Header()["X-Own"])
	assert.Empty(t, w.Header()["X-Too"])
	assert.Equal(t, []string{"3"}, w.Header()["X-Other"])
}

// A body that is not kept cannot be read once the handler has returned: the
// connection may be that of the next request.
func TestNoBodyIsReadAfterItsRequest(t *testing.T) {
	var body io.Reader
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		body = r.Body
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	r := incoming()
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 17<<20))), 17<<20
	p.ServeHTTP(w, r)
	assert.Equal(t, []int{http.StatusOK}, w.all)
	_, err := io.CopyN(io.Discard, body, 1<<20)
	assert.Error(t, err)
}

func incoming() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/up/v1", nil)
	r.Host = "127.0.0.1"
	return r
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// statuses keeps what is given to WriteHeader.
type statuses struct {
	*httptest.ResponseRecorder

	all []int
}

func (s *statuses) WriteHeader(status int) {
	s.all = append(s.all, status)
	if status >= http.StatusOK {
		s.ResponseRecorder.WriteHeader(status)
	}
}

func hint(r *http.Request) error {
	h := textproto.MIMEHeader{"Link": {"</a>"}, "Set-Cookie": {"a=b"}}
	return httptrace.ContextClientTrace(r.Context()).Got1xxResponse(http.StatusEarlyHints, h)
}

// An informational response that arrives late, on a goroutine of the base, is not
// written to a connection after its request has ended.
func TestALateInformationalResponseIsDropped(t *testing.T) {
	var sent *http.Request
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		sent = r
		return nil, errors.Join(errors.New("broken"), hint(r))
	})
	p.ServeHTTP(w, incoming())
	require.NoError(t, hint(sent))
	assert.Equal(t, []int{http.StatusEarlyHints, http.StatusBadGateway}, w.all)
	assert.Empty(t, w.Header().Get("Link"), "of the informational response alone")
}

// Neither an informational response nor a trailer returns the credential of the request.
func TestACredentialIsNotEchoedAroundTheAnswer(t *testing.T) {
	const key = "sk-canary-0001"
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		h := textproto.MIMEHeader{"Link": {"</a>"}, "X-Echo": {"the key was " + key}}
		err := httptrace.ContextClientTrace(r.Context()).Got1xxResponse(http.StatusEarlyHints, h)
		trailer := http.Header{"X-Sum": {"1"}, "X-Echo": {key}, "Keep-Alive": {"5"}, "Set-Cookie": {"a=b"}}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Trailer: trailer, Body: http.NoBody, Request: r}, err
	})
	r := incoming()
	r.Header.Set("X-Api-Key", key)
	seen := http.Header{}
	p.ServeHTTP(&during{w, seen}, r)
	assert.Equal(t, http.Header{"Link": {"</a>"}}, seen)
	assert.Equal(t, []string{"1"}, w.Header()[http.TrailerPrefix+"X-Sum"])
	for _, name := range []string{"X-Echo", "Keep-Alive", "Set-Cookie"} {
		assert.Empty(t, w.Header()[http.TrailerPrefix+name], name)
	}
	assert.NotContains(t, w.Header().Get("Trailer"), "Keep-Alive")
}

// An informational response carries no credential to the client.
func TestWhatAnInformationalResponseDoesNotReturn(t *testing.T) {
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		return nil, errors.Join(errors.New("broken"), hint(r))
	})
	seen := http.Header{}
	p.ServeHTTP(&during{w, seen}, incoming())
	assert.Equal(t, http.Header{"Link": {"</a>"}}, seen)
}

// during keeps the headers of informational responses.
type during struct {
	*statuses

	seen http.Header
}

func (d *during) WriteHeader(status int) {
	if status < http.StatusOK {
		maps.Copy(d.seen, d.Header())
	}
	d.statuses.WriteHeader(status)
}

// A program around the handler that traces requests hears what it would hear of a
// ReverseProxy.
func TestATraceAroundTheHandlerIsKept(t *testing.T) {
	p, w := hinted(t, func(r *http.Request) (*http.Response, error) {
		return nil, errors.Join(errors.New("broken"), hint(r))
	})
	heard := 0
	trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		heard++
		return nil
	}}
	p.ServeHTTP(w, incoming().WithContext(httptrace.WithClientTrace(t.Context(), trace)))
	assert.Equal(t, 1, heard)
	assert.Equal(t, []int{http.StatusEarlyHints, http.StatusBadGateway}, w.all)
}
