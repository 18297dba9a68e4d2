package run

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// The requests of lines with different urls, and of lines with the same one, have nothing in common that one of them could change.
func TestRequestsAreTheirOwn(t *testing.T) {
	base, err := url.Parse("https://host/v1")
	require.NoError(t, err)
	c := &caller{
		Run:  &settings.Run{Base: base, Headers: http.Header{"X-Team": {"a"}}},
		once: func(q *requests.Request) string { return q.ID },
	}
	for _, q := range []requests.Request{
		{ID: "1", URL: "/v1/chat?a=b", Body: "{}"},
		{ID: "2", URL: "/v1/chat?a=b", Body: `{"a":1}`},
		{ID: "3", URL: "/v1/embeddings", Body: "{}"},
		{ID: "4", URL: "/v1/chat?a=b", Body: "{}"},
	} {
		req, err := c.request(t.Context(), &q)
		require.NoError(t, err)
		assert.Equal(t, "https://host"+q.URL, req.URL.String())
		assert.Equal(t, "host", req.Host)
		assert.Equal(t, int64(len(q.Body)), req.ContentLength)
		assert.Equal(t, http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {q.ID}, "X-Team": {"a"}}, req.Header)
		assert.Nil(t, req.GetBody)
		req.URL.Path = "/changed"
		req.Header.Set("X-Other", "b")
	}
}
