package proxy

import (
	"net/http"
	"sync/atomic"
)

// wire is what a request has met at its upstream.
type wire struct {
	refused atomic.Int64 // rate-limit responses
}

// statusOverloaded is Anthropic's: https://docs.anthropic.com/en/api/errors.
const statusOverloaded = 529

func isRefusal(status int) bool {
	return status == http.StatusTooManyRequests || status == statusOverloaded
}

// counted counts what upstreams answer below the limiters.
type counted struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(r)
	if err == nil && isRefusal(resp.StatusCode) {
		if x := exchangeOf(r.Context()); x != nil {
			x.wire.refused.Add(1)
		}
	}
	return resp, err
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (c *counted) CloseIdleConnections() {
	if i, ok := c.base.(interface{ CloseIdleConnections() }); ok {
		i.CloseIdleConnections()
	}
}
