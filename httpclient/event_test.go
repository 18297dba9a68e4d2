package httpclient_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

func TestEventOfARequest(t *testing.T) {
	s, trust := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "hello")
	})
	var own, theirs requests
	c := newClient(t, func(c *httpclient.Config) { trust(c); c.Observer, c.RunID = &own, "run" })
	req := request(t, "POST", s.URL+"/p?key=v", strings.NewReader("body"))
	req = req.WithContext(event.With(event.With(req.Context(), &theirs), &own)) // an observer in both places gets each event once
	resp, err := c.Do(req)
	require.NoError(t, err)
	assert.Empty(t, own.all, "the body is not read yet")
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	e := own.one(t)
	require.NoError(t, resp.Body.Close())

	host := strings.TrimPrefix(s.URL, "https://")
	assert.Equal(t, e, own.one(t), "one event")
	assert.Equal(t, e, theirs.one(t))
	assert.Equal(t, event.NetRequest, e.Kind)
	assert.Equal(t, "test", e.Source)
	assert.Equal(t, event.NoIndex, e.Index)
	assert.Equal(t, 1, e.Attempt)
	assert.NoError(t, e.Err)
	got := *e.Request
	assert.NotEmpty(t, got.ID)
	assert.Positive(t, got.Waited)
	assert.Greater(t, got.FirstByte, got.Waited)
	assert.Greater(t, e.Wait, got.FirstByte)
	assert.Positive(t, got.Connect)
	assert.Less(t, got.Connect, got.FirstByte)
	got.ID, got.Waited, got.FirstByte, got.Connect = "", 0, 0, 0
	assert.Equal(t, event.Request{
		Run: "run", Method: "POST", URL: "https://" + host + "/p?key=REDACTED",
		Status: 418, Proto: "HTTP/2.0", Sent: 4, Received: 5,
	}, got)
}

func TestEventOfAFailure(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) { c.Observer, c.Service = &told, "" })
	err := get(t, c, "http://127.0.0.1:1/")
	e := told.one(t)
	assert.Same(t, failure(t, err), e.Err)
	assert.Equal(t, "127.0.0.1:1", e.Source, "a service without a name is its host")
	assert.Equal(t, 1, e.Attempt)
	assert.Zero(t, e.Request.Status)
	assert.Equal(t, failure(t, err).ID, e.Request.ID)
}

func TestEventOfABodyThatIsLeft(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	var told requests
	c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
	resp, err := c.Do(request(t, "GET", s.URL, nil))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.NoError(t, told.one(t).Err)
	assert.Zero(t, told.one(t).Request.Received)
}

// A body that is never closed still ends the call: its event is emitted and its resources are freed.
func TestEventOfABodyThatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan event.Event, 2)
		c := newClient(t, func(c *httpclient.Config) { c.Observer = event.Func(func(e event.Event) { told <- e }) })
		c.InMemory(stalls(ok + "Content-Length: 10\r\n\r\nabc"))
		resp, err := c.Do(request(t, "GET", "http://h.example", nil))
		require.NoError(t, err)
		e := <-told
		assert.Equal(t, 20*time.Second, e.Wait)
		assert.ErrorIs(t, e.Err, httpclient.CodeReadTimeout)
		assert.ErrorIs(t, e.Err, context.DeadlineExceeded)
		assert.True(t, failure(t, e.Err).Timeout())
		_, err = io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, httpclient.CodeReadTimeout)
		resp.Body.Close()
		assert.Empty(t, told)
	})
}

// Something in Config.Wrap kept the answer until its time was over.
func TestEventOfABodyThatWasLateBeforeTheCallerHadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told requests
		c := newClient(t, func(c *httpclient.Config) {
			c.Observer = &told
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					time.Sleep(time.Hour)
					return resp, err
				})
			}}
		})
		c.InMemory(stalls(ok + "Content-Length: 10\r\n\r\nabc"))
		resp, err := c.Do(request(t, "GET", "http://h.example", nil))
		require.NoError(t, err)
		assert.ErrorIs(t, told.one(t).Err, httpclient.CodeReadTimeout)
		resp.Body.Close()
	})
}

func TestEventOfACachedAnswer(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) {
		c.Observer = &told
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", Body: io.NopCloser(strings.NewReader("kept")), Request: r}, nil
			})
		}}
	})
	body := do(t, c, request(t, "GET", "http://h.example", nil))
	assert.Equal(t, "kept", body)
	e := told.one(t)
	assert.True(t, e.Request.Cached)
	assert.Zero(t, e.Attempt)
	assert.Equal(t, int64(4), e.Request.Received)
}

// A cache may answer for a server that cannot be reached: the attempt counts, and nothing went to the wire.
func TestEventOfAnAnswerKeptForAServerThatIsDown(t *testing.T) {
	var told requests
	c := newClient(t, func(c *httpclient.Config) {
		c.Observer = &told
		c.Cache = func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				if resp, err := next.RoundTrip(r); err == nil {
					return resp, nil
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("kept"))}, nil
			})
		}
	})
	assert.Equal(t, "kept", do(t, c, request(t, "GET", "http://127.0.0.1:1", nil)))
	assert.True(t, told.one(t).Request.Cached)
	assert.Equal(t, 1, told.one(t).Attempt)
}

// Two attempts of a round tripper above the wire are one event, and so are two of net/http itself.
func TestEventCountsEveryAttempt(t *testing.T) {
	t.Run("of a round tripper", func(t *testing.T) {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		var told requests
		c := newClient(t, func(c *httpclient.Config) {
			c.Observer = &told
			c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) {
					first, err := next.RoundTrip(r)
					if err != nil {
						return nil, err
					}
					first.Body.Close()
					return next.RoundTrip(r)
				})
			}}
		})
		do(t, c, request(t, "GET", s.URL, nil))
		assert.Equal(t, 2, told.one(t).Attempt)
	})
	t.Run("of net/http", func(t *testing.T) {
		var dropped atomic.Bool // one request, on a connection that was used before
		address := listen(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				_, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
				if _, err := http.ReadRequest(r); err == nil && !dropped.Load() { // the second one gets no answer here
					dropped.Store(true)
					return
				}
			}
		})
		var told requests
		c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
		do(t, c, request(t, "GET", "http://"+address, nil))
		do(t, c, request(t, "GET", "http://"+address, nil))
		require.Len(t, told.all, 2)
		assert.Equal(t, 1, told.all[0].Attempt)
		assert.Equal(t, 2, told.all[1].Attempt)
		assert.False(t, told.all[1].Request.Reused)
	})
}

func TestCheckStatus(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ok" {
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "slow down")
	})
	c := newClient(t, nil)
	resp, err := c.Do(request(t, "GET", s.URL+"/ok", nil))
	require.NoError(t, err)
	assert.NoError(t, httpclient.CheckStatus(resp))
	resp.Body.Close()

	resp, err = c.Do(request(t, "GET", s.URL+"/no?key=v", nil))
	require.NoError(t, err)
	defer resp.Body.Close() // a second time
	failed := failure(t, httpclient.CheckStatus(resp))
	assert.Equal(t, httpclient.CodeStatus, failed.Code)
	assert.Equal(t, "test", failed.Service)
	assert.Equal(t, 429, failed.StatusCode)
	assert.Equal(t, "7", failed.Header.Get("Retry-After"))
	assert.Equal(t, "slow down", string(failed.Body))
	assert.NotContains(t, failed.Error(), "slow down")

	plain, err := http.DefaultClient.Do(request(t, "GET", s.URL+"/no?key=v", nil))
	require.NoError(t, err)
	defer plain.Body.Close()
	failed = failure(t, httpclient.CheckStatus(plain))
	assert.Equal(t, s.URL+"/no?key=REDACTED", failed.URL)
	assert.Equal(t, "slow down", string(failed.Body))
	http.DefaultClient.CloseIdleConnections()

	found := httpclient.CheckStatus(&http.Response{StatusCode: http.StatusInternalServerError})
	assert.True(t, errors.Is(found, httpclient.CodeStatus))

	line, other := net.Pipe() // on which nothing is said
	defer func() { _ = other.Close() }()
	found = httpclient.CheckStatus(&http.Response{StatusCode: http.StatusSwitchingProtocols, Body: line})
	assert.True(t, errors.Is(found, httpclient.CodeStatus))
	_, err = line.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}
