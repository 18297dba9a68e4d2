package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// answering is a provider that answers each request in the same way.
func answering(status int, body string, header ...string) providertest.Config {
	return providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		f := &providertest.Fault{Status: status, Body: body, Header: http.Header{}}
		for i := 0; i+1 < len(header); i += 2 {
			f.Header.Set(header[i], header[i+1])
		}
		return f
	}}
}

// RFC 9110, section 15.4.8: a 307 names its target in Location. It is an answer of the service, not a fault of the network.
func TestARedirectIsReportedAsOneAndNotRetried(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://elsewhere.example/v1/chat/completions?a=b": "https://elsewhere.example/v1/chat/completions?a=b",
		"/v2/chat": "/v2/chat", // below the provider
		"":         "",
	} {
		p := newPlace(t, answering(307, "", "Location", location))
		p.requests(1)
		if strings.HasPrefix(want, "/") {
			want = p.provider.URL() + want
		}
		status, _, errs := p.run()
		require.Equal(t, 1, status, errs)
		assert.Equal(t, 1, p.provider.Counts().Arrivals)
		assert.NotContains(t, errs, "item.retry")
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1)
		assert.Nil(t, failed[0].Error)
		assert.Equal(t, 307, failed[0].Response.StatusCode)
		assert.Equal(t, want, failed[0].Response.Location)
		if want == "" {
			assert.Contains(t, errs, "first failure: r0: a redirect (307) that does not say to where")
		} else {
			assert.Contains(t, errs, "first failure: r0: a redirect (307) to "+want)
		}
	}
}

// What cannot be a URL is still a redirect, and a key in it is taken out.
func TestARedirectToNowhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, answering(308, "", "Location", "http://%zz/"))
	p.requests(1)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	assert.Equal(t, 1, p.provider.Counts().Arrivals)
	require.Len(t, p.lines("r.errors.jsonl"), 1)
	assert.Equal(t, 308, p.lines("r.errors.jsonl")[0].Response.StatusCode)

	p = newPlace(t, answering(302, "", "Location", "https://elsewhere.example/?key="+canary))
	p.requests(1)
	status, _, errs = p.run()
	require.Equal(t, 1, status, errs)
	assert.Equal(t, "https://elsewhere.example/?key=REDACTED", p.lines("r.errors.jsonl")[0].Response.Location)
}
