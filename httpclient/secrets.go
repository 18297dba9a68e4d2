package httpclient

import (
	"net/http"
	"slices"

	"github.com/headrace/headrace/internal/redact"
)

// secrets collects what an error of the call must not repeat: secrets of the caller's request, of the request sent, and of the
// proxy. sent may be nil if it is not known.
func (c *call) secrets(sent *http.Request) []string {
	found := secretsOf(c.req)
	if last := c.last.Load(); sent == nil && last != nil {
		sent = last.req
	}
	if sent != nil {
		found = append(append(found, secretsOf(sent)...), c.added(sent)...)
	}
	if c.req.URL == nil {
		return found
	}
	if proxy, err := c.client.config.proxy(c.req); err == nil && proxy != nil {
		found = append(found, secretsOf(&http.Request{URL: proxy})...)
	}
	return found
}

// added is what Config.Sign may have put into headers that hold no secrets otherwise.
func (c *call) added(sent *http.Request) []string {
	if c.client.config.Sign == nil {
		return nil
	}
	own := []string{c.id, c.client.config.UserAgent, c.client.config.RunID}
	var values []string
	for name, all := range sent.Header {
		if !redact.Harmless(name) {
			continue
		}
		for _, value := range all {
			if !slices.Contains(own, value) && !slices.Contains(c.req.Header[name], value) {
				values = append(values, value)
			}
		}
	}
	return secretsOf(&http.Request{Header: http.Header{"Added": values}})
}

// inOrder puts the longest first: one may begin with another.
func inOrder(secrets []string) []string {
	slices.SortStableFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}
