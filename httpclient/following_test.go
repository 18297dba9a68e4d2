package httpclient_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

func TestFollowing(t *testing.T) {
	var s seen
	server := script(t, &s, http.StatusFound, map[string]string{"/a": "/b", "/b": "/c"})
	client, err := httpclient.New(httpclient.Config{Gate: gateTo(t, server.URL), FailOnRedirect: true})
	require.NoError(t, err)
	defer client.Close()
	get := func(f httpclient.Follow) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/a", http.NoBody)
		require.NoError(t, err)
		return client.Following(f).Do(req)
	}
	resp, err := get(httpclient.Follow{})
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, "end", string(text))
	assert.Len(t, s.all, 3)

	resp, err = get(httpclient.Follow{MaxHops: 1})
	if err == nil {
		resp.Body.Close()
	}
	assert.ErrorIs(t, err, httpclient.CodeRedirect, "the bounds are passed on")
}
