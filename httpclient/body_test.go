package httpclient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

// Only a refusal is read to its end, and that for a second.
func TestClosingABodyThatStalls(t *testing.T) {
	for status, wait := range map[string]time.Duration{"200 OK": 0, "429 Too Many Requests": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, nil)
			c.InMemory(stalls("HTTP/1.1 " + status + "\r\nContent-Length: 10\r\n\r\nabc"))
			resp, err := c.Do(request(t, "GET", "http://h.example", nil))
			require.NoError(t, err)
			begun := time.Now()
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, wait, time.Since(begun), status)
		})
	}
}

func TestFailOnRedirectClosesTheBody(t *testing.T) {
	body := &tracked{Reader: strings.NewReader("moved")}
	c := newClient(t, func(c *httpclient.Config) {
		c.FailOnRedirect = true
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
			return tripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusFound, Body: body}, nil
			})
		}}
	})
	assert.ErrorIs(t, get(t, c, "http://h.example"), httpclient.CodeRedirect)
	assert.EqualValues(t, 1, body.closed.Load())
}

// The request of an answer is the caller's: no credentials, and no context that is over.
func TestRequestOfAnAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == canary && r.URL.Path == "/text" {
			_, _ = io.WriteString(w, "hello")
		}
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	for name, wrap := range map[string]func(next http.RoundTripper) http.RoundTripper{
		"nothing between": nil,
		"wrapped": func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if assert.NoError(t, err) {
					assert.Same(t, r, resp.Request)
				}
				return resp, err
			})
		},
	} {
		for _, path := range []string{"/text", "/none"} {
			c := newClient(t, func(c *httpclient.Config) {
				c.Sign = httpclient.HeaderAuth("X-Api-Key", httpclient.NewSecret(canary))
				if wrap != nil {
					c.Wrap = append(c.Wrap, wrap)
				}
			})
			req := request(t, "GET", s.URL+path, nil)
			resp, err := c.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, path == "/text", len(text) > 0, name)
			require.NoError(t, resp.Body.Close())
			assert.Empty(t, resp.Request.Header)
			assert.Equal(t, req.URL, resp.Request.URL)
			assert.NoError(t, resp.Request.Context().Err())
			if path == "/none" {
				assert.NotEmpty(t, failure(t, httpclient.CheckStatus(resp)).ID, "an answer without a body is known too")
			}
		}
	}
}
