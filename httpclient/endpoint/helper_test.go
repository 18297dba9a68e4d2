package endpoint_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/wiretest"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

const ok = "HTTP/1.1 200 OK\r\n"

const canary = wiretest.Canary

// failure is the *Error in err.
func failure(t *testing.T, err error) *httpclient.Error {
	t.Helper()
	require.Error(t, err)
	failed, ok := errors.AsType[*httpclient.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return failed
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

// newClient returns a client with short timeouts that is closed after the test.
func newClient(t *testing.T, change func(*httpclient.Config)) *httpclient.Client {
	t.Helper()
	config := httpclient.Config{Service: "test", Timeouts: httpclient.Timeouts{
		Connect: 10 * time.Second, TLS: 10 * time.Second, Header: 10 * time.Second, BodyIdle: 10 * time.Second, Call: 20 * time.Second,
	}}
	if change != nil {
		change(&config)
	}
	c, err := httpclient.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// requests collects the events.
type requests struct {
	mu  sync.Mutex
	all []event.Event
}

func (r *requests) Observe(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *requests) one(t *testing.T) event.Event {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.all, 1)
	return r.all[0]
}

// resend is for Config.Wrap: a transport of its own, with this policy.
func resend(p retry.Policy) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		r, err := registry.New(registry.Config{})
		if err != nil {
			panic(err)
		}
		return headrace.Transport(next, "", headrace.WithRegistry(r), headrace.With(guard.Policy{Retry: &p}), headrace.WithResend(3))
	}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const variable = "HEADRACE_TEST_SECRET"
