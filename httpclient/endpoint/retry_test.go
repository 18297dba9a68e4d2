package endpoint_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

// An endpoint by itself repeats what can do no harm.
func TestEndpointMaxRetries(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		status  int // 0: a page of HTML
		header  string
		retries int
		keys    bool
		timeout time.Duration
		calls   int
		took    time.Duration // at least
	}{
		"none":                      {method: "GET", status: 500, calls: 1},
		"GET 500":                   {method: "GET", status: 500, retries: 3, calls: 4},
		"POST 500":                  {method: "POST", status: 500, retries: 3, calls: 1},
		"POST 500, keyed":           {method: "POST", status: 500, retries: 1, keys: true, calls: 2},
		"POST 429":                  {method: "POST", status: 429, header: "20", retries: 2, calls: 3, took: 40 * time.Second},
		"POST 503 with Retry-After": {method: "POST", status: 503, header: "20", retries: 1, calls: 2, took: 20 * time.Second},
		"a long Retry-After":        {method: "POST", status: 429, header: "61", retries: 2, calls: 1},
		"beyond the deadline":       {method: "POST", status: 429, header: "20", retries: 2, timeout: 30 * time.Second, calls: 2, took: 20 * time.Second},
		"GET 404":                   {method: "GET", status: 404, retries: 3, calls: 1},
		"HTML":                      {method: "GET", retries: 2, calls: 3},
		"HTML after POST":           {method: "POST", retries: 2, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{status: c.status, header: http.Header{}, body: "{}"}
				if c.header != "" {
					f.header.Set("Retry-After", c.header)
				}
				if c.status == 0 {
					f.status, f.body = http.StatusOK, "<html>"
				}
				var mu sync.Mutex
				keys := map[string]bool{}
				client := newClient(t, func(config *httpclient.Config) {
					config.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
						return tripper(func(r *http.Request) (*http.Response, error) {
							mu.Lock()
							defer mu.Unlock()
							keys[r.Header.Get("Idempotency-Key")] = true
							return f.RoundTrip(r)
						})
					}}
				})
				e := newEndpoint(t, endpoint.Config{
					BaseURL: "http://h", Method: c.method, Client: client, MaxRetries: c.retries, IdempotencyKeys: c.keys,
				})
				ctx := t.Context()
				if c.timeout > 0 {
					within, cancel := context.WithTimeout(ctx, c.timeout)
					defer cancel()
					ctx = within
				}
				began := time.Now()
				a, err := e.Call(ctx, "p")
				assert.Error(t, err)
				assert.Len(t, f.sent, c.calls)
				for _, body := range f.sent {
					assert.Equal(t, "p", body)
				}
				assert.Len(t, keys, 1, "all attempts have the same key")
				assert.NotNil(t, a)
				assert.GreaterOrEqual(t, time.Since(began), c.took)
				assert.Less(t, time.Since(began), c.took+time.Minute)
			})
		})
	}
}

// fake answers every request alike.
type fake struct {
	status int
	header http.Header
	body   string
	sent   []string // the bodies
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	f.sent = append(f.sent, string(body))
	return &http.Response{
		StatusCode: f.status, Header: f.header.Clone(), Body: io.NopCloser(strings.NewReader(f.body)), Request: req,
	}, req.Body.Close()
}
