package httpclient_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

// The answer is there before the request is sent, which never is: the caller gets it.
func TestAnAnswerBeforeTheRequestIsSent(t *testing.T) {
	plain := listen(t, func(c net.Conn) { // by hand: the server of net/http reads the body first
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 9\r\n\r\ntoo large")
			_, _ = io.Copy(io.Discard, c)
		}
	})
	secure, trust := serveTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too large")
	})
	for _, url := range []string{"http://" + plain, secure.URL} {
		body, feed := io.Pipe()
		resp, err := newClient(t, trust).Do(request(t, "POST", url, body))
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "too large", string(text))
		require.NoError(t, feed.Close())
		require.NoError(t, resp.Body.Close())
	}
}

func TestHintsAndContinue(t *testing.T) {
	address := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
		text, _ := io.ReadAll(req.Body)
		_, _ = io.WriteString(c, ok+"Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n4\r\n"+string(text)+"\r\n0\r\nSum: 7\r\n\r\n")
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
	req := request(t, "POST", "http://"+address, strings.NewReader("body"))
	req.Header.Set("Expect", "100-continue")
	resp, err := c.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, "body", string(text))
	assert.Equal(t, "7", resp.Trailer.Get("Sum"))
	assert.Equal(t, 1, told.one(t).Attempt)
}

// What follows a 101 is the caller's, without any timeout, until the client is closed.
func TestSwitchingProtocols(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told requests
		c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
		c.InMemory(after(func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			time.Sleep(2 * time.Hour) // reads nothing meanwhile
			_, _ = io.Copy(c, c)
		}))
		req := request(t, "GET", "http://h.example", nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := c.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, http.StatusSwitchingProtocols, told.one(t).Request.Status)
		time.Sleep(time.Hour)
		line, both := resp.Body.(io.ReadWriter)
		require.True(t, both)
		_, err = io.WriteString(line, "hello")
		require.NoError(t, err)
		text := make([]byte, 5)
		_, err = io.ReadFull(line, text)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(text))
		c.Close()
		_, err = line.Read(text)
		assert.Error(t, err)
	})
}

func TestNoBody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	for _, method := range []string{"HEAD", "DELETE", "GET"} {
		var told requests
		c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
		resp, err := c.Do(request(t, method, s.URL, nil))
		require.NoError(t, err)
		assert.NoError(t, told.one(t).Err, "there is nothing to wait for")
		require.NoError(t, resp.Body.Close())
		do(t, c, request(t, method, s.URL, nil))
		assert.True(t, told.all[1].Request.Reused, method)
	}
}

func TestAWrapThatReturnsNothing(t *testing.T) {
	c := newClient(t, func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
			return tripper(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // the fault
		}}
	})
	err := get(t, c, "http://h.example")
	assert.Equal(t, httpclient.CodeUnsent, failure(t, err).Code)
	assert.ErrorContains(t, err, "neither an answer nor an error")
}

// Requests of its own, such as for a token, that a round tripper sends under another context.
func TestAWrapMaySendRequestsOfItsOwn(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, "t0ken")
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
	var told requests
	c := newClient(t, func(c *httpclient.Config) {
		c.Observer = &told
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				own, err := next.RoundTrip(request(t, "GET", s.URL+"/token", nil)) //nolint:contextcheck // of its own
				if err != nil {
					return nil, err
				}
				token, err := io.ReadAll(own.Body)
				if err != nil {
					return nil, err
				}
				out := r.Clone(r.Context())
				out.Header.Set("Authorization", "Bearer "+string(token))
				return next.RoundTrip(out)
			})
		}}
	})
	req := request(t, "GET", s.URL+"/x", nil)
	body := do(t, c, req)
	assert.Equal(t, "Bearer t0ken", body)
	assert.Empty(t, req.Header)
	e := told.one(t)
	assert.Equal(t, 1, e.Attempt, "that of the token is none of it")
}
