package httpclient_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/httpclient"
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
				f := &fake{plays: []play{{status: c.status, header: "Retry-After: " + c.header, body: "{}"}}}
				if c.header == "" {
					f.plays[0].header = ""
				}
				if c.status == 0 {
					f.plays[0] = play{status: 200, body: "<html>"}
				}
				var mu sync.Mutex
				keys := map[string]bool{}
				client := newClient(t, func(config *httpclient.Config) {
					config.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
						return roundTrip(func(r *http.Request) (*http.Response, error) {
							mu.Lock()
							defer mu.Unlock()
							keys[r.Header.Get("Idempotency-Key")] = true
							return f.RoundTrip(r)
						})
					}}
				})
				e := endpoint(t, httpclient.EndpointConfig{
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

// roundTrip is a round tripper made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
