package main

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// cached answers by itself where the path is /cached.
func cached(next http.RoundTripper) http.RoundTripper {
	return tripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Path != "/cached" {
			return next.RoundTrip(req)
		}
		return &http.Response{
			StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(strings.NewReader("kept")), Request: req,
		}, nil
	})
}

// limited admits no call if the path is /limited.
func limited(next http.RoundTripper) http.RoundTripper {
	return tripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Path != "/limited" {
			return next.RoundTrip(req)
		}
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	})
}

// series gives the count of each set of attributes of the named instrument,
// and the sum over all.
func series(t *testing.T, scope metricdata.ScopeMetrics, name string) (counts map[string]uint64, sum float64) {
	t.Helper()
	counts = map[string]uint64{}
	for _, m := range scope.Metrics {
		if m.Name != name {
			continue
		}
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				counts[list(p.Attributes)] = uint64(p.Value)
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				counts[list(p.Attributes)], sum = p.Count, sum+float64(p.Sum)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				counts[list(p.Attributes)], sum = p.Count, sum+p.Sum
			}
		}
	}
	return counts, sum
}

// echo gives back the request's body, with a status that the path asks for.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/missing" {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.Copy(w, r.Body)
}

func post(ctx context.Context, client *httpclient.Client, method, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}

// What real clients tell of a real server, and of one that is not there.
func TestRequestsOfAClient(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(echo))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())

	c := newCollector(t)
	client, err := httpclient.New(httpclient.Config{
		RootCAs: roots, Observer: c, Cache: cached, Wrap: []func(http.RoundTripper) http.RoundTripper{limited},
	})
	require.NoError(t, err)
	defer client.Close()

	ctx := t.Context()
	require.NoError(t, post(ctx, client, "POST", plain.URL, "12345"))
	require.NoError(t, post(ctx, client, "POST", plain.URL+"/another?path=too", "123"))
	require.NoError(t, post(ctx, client, "PUT", plain.URL+"/missing", "12"))
	require.NoError(t, post(ctx, client, "BREW", plain.URL, "1"))
	require.NoError(t, post(ctx, client, "POST", secure.URL, "1234567"))
	require.NoError(t, post(ctx, client, "POST", plain.URL+"/cached", ""))
	require.ErrorIs(t, post(ctx, client, "POST", gone.URL, "1234"), httpclient.CodeConnect)
	given, give := context.WithCancel(ctx)
	give()
	require.ErrorIs(t, post(given, client, "POST", plain.URL+"/limited", "1"), httpclient.CodeCanceled)

	of := func(before, u, after string) string {
		parsed, err := url.Parse(u)
		require.NoError(t, err)
		host, port, err := net.SplitHostPort(parsed.Host)
		require.NoError(t, err)
		return before + " server.address=" + host + " server.port=" + port + after
	}
	const v1, v2 = " network.protocol.version=1.1", " network.protocol.version=2"
	var (
		ok       = of("http.request.method=POST http.response.status_code=200"+v1, plain.URL, "")
		missing  = of("error.type=404 http.request.method=PUT http.response.status_code=404"+v1, plain.URL, "")
		brewed   = of("http.request.method=_OTHER http.response.status_code=200"+v1, plain.URL, "")
		second   = of("http.request.method=POST http.response.status_code=200"+v2, secure.URL, "")
		refused  = of("error.type=E_NET_CONNECT http.request.method=POST", gone.URL, "")
		canceled = of("error.type=E_CANCELED http.request.method=POST", plain.URL, "")
	)
	scope := only(t, c.scopes(t))
	for _, want := range []struct {
		name   string
		counts map[string]uint64
		sum    float64 // negative: it was timed
	}{
		{"headrace.http.client.duration", map[string]uint64{ok: 2, missing: 1, brewed: 1, second: 1, refused: 1}, -1},
		{"headrace.http.client.first_byte", map[string]uint64{ok: 2, missing: 1, brewed: 1, second: 1}, -1},
		{"headrace.http.client.request.body.size", map[string]uint64{ok: 2, missing: 1, brewed: 1, second: 1, refused: 1}, 5 + 3 + 2 + 1 + 7 + 4},
		{"headrace.http.client.response.body.size", map[string]uint64{ok: 2, missing: 1, brewed: 1, second: 1}, 5 + 3 + 2 + 1 + 7},
		{"headrace.http.client.wait", map[string]uint64{ok: 2, missing: 1, brewed: 1, second: 1, refused: 1, canceled: 1}, -1},
		{"headrace.http.client.attempts", map[string]uint64{ok: 3, missing: 1, brewed: 1, second: 1, refused: 1, canceled: 1}, 6},
		{"headrace.http.client.cached", map[string]uint64{ok: 1}, 0},
	} {
		counts, sum := series(t, scope, want.name)
		assert.Equal(t, want.counts, counts, want.name)
		if want.sum >= 0 {
			assert.InDelta(t, want.sum, sum, 0, want.name)
		} else {
			assert.Positive(t, sum, want.name)
		}
	}
}

// An observer is one for the context as well.
func TestRequestOfAContext(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	client, err := httpclient.New(httpclient.Config{})
	require.NoError(t, err)
	defer client.Close()

	c := newCollector(t)
	require.NoError(t, post(event.With(t.Context(), c), client, "POST", server.URL, "1"))
	counts, _ := series(t, only(t, c.scopes(t)), "headrace.http.client.duration")
	assert.Len(t, counts, 1)
}
