package providertest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

// base is a host that exists nowhere: Transport answers for any.
const base = "http://provider.invalid"

// newServer returns a server that is closed with the test.
func newServer(t *testing.T, config providertest.Config) *providertest.Server {
	t.Helper()
	s, err := providertest.New(config)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// hello is the smallest chat request.
const hello = `{"model":"test-1","messages":[{"role":"user","content":"Hello there. And more."}]}`

// newRequest returns a chat request with a key.
func newRequest(ctx context.Context, t *testing.T, base, key, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req
}

// reply is an answer that has been read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send posts a chat request through rt.
func send(t *testing.T, rt http.RoundTripper, base, key, body string) reply {
	t.Helper()
	return do(t, rt, newRequest(t.Context(), t, base, key, body))
}

func do(t *testing.T, rt http.RoundTripper, req *http.Request) reply {
	t.Helper()
	res, err := rt.RoundTrip(req)
	require.NoError(t, err)
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return reply{status: res.StatusCode, header: res.Header, body: string(data)}
}

// apiError is OpenAI's error object.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (r reply) apiError(t *testing.T) apiError {
	t.Helper()
	var body struct {
		Error *apiError `json:"error"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &body), r.body)
	require.NotNil(t, body.Error, r.body)
	return *body.Error
}

// elapse lets d pass; in a synctest bubble it passes at once.
func elapse(d time.Duration) { <-time.NewTimer(d).C }
