package httpclient_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/httpclient"
)

func TestCloseEndsEverything(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, trust := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		c := newClient(t, func(c *httpclient.Config) { trust(c); c.NoHTTP2 = !http2 })
		resp, err := c.Do(request(t, "GET", s.URL, nil))
		require.NoError(t, err)
		assert.Equal(t, http2, resp.ProtoMajor == 2)
		c.Close()
		c.Close()
		_, err = io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		resp.Body.Close()
		err = get(t, c, s.URL)
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		assert.ErrorIs(t, err, httpclient.CodeUnsent)
	}
}

// Close returns at once, and ends every wait of a request, whatever it waits for.
func TestCloseFreesWhoeverWaits(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"in the handshake": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"for the header":   stalls(""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, nil)
				c.InMemory(serve)
				url, code := "http://h.example", httpclient.CodeRead
				if name == "in the handshake" {
					url, code = "https://h.example", httpclient.CodeUnsent
				}
				var err error
				var wg sync.WaitGroup
				begun := time.Now()
				wg.Go(func() { err = get(t, c, url) })
				synctest.Wait()
				c.Close()
				wg.Wait()
				assert.Zero(t, time.Since(begun))
				assert.ErrorIs(t, err, httpclient.ErrClosed)
				assert.ErrorIs(t, err, code)
			})
		})
	}
	t.Run("for an address", func(t *testing.T) {
		asked := make(chan struct{})
		c := newClient(t, func(c *httpclient.Config) {
			c.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				select {
				case asked <- struct{}{}:
				default:
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		})
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { err = get(t, c, "http://nowhere.example") })
		<-asked
		c.Close()
		wg.Wait()
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		assert.ErrorIs(t, err, httpclient.CodeUnsent)
	})
	t.Run("in a limiter", func(t *testing.T) {
		s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
		var c *httpclient.Client
		signed := false
		c = newClient(t, func(config *httpclient.Config) {
			config.Sign = func(*http.Request) error { signed = true; return nil }
			config.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) {
					c.Close()
					return next.RoundTrip(r)
				})
			}}
		})
		err := get(t, c, s.URL)
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		assert.ErrorIs(t, err, httpclient.CodeUnsent)
		assert.False(t, signed)
	})
}

// Some read while another closes: the race detector is the judge.
func TestABodyMayBeClosedWhileItIsRead(t *testing.T) {
	for _, status := range []string{"200 OK", "429 Too Many Requests"} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, nil)
			c.InMemory(stalls("HTTP/1.1 " + status + "\r\nContent-Length: 10\r\n\r\nabc"))
			resp, err := c.Do(request(t, "GET", "http://h.example", nil))
			require.NoError(t, err)
			var wg sync.WaitGroup
			begun := time.Now()
			wg.Go(func() { _, err = io.ReadAll(resp.Body) })
			synctest.Wait()
			assert.NoError(t, resp.Body.Close())
			wg.Wait()
			assert.Error(t, err)
			assert.Zero(t, time.Since(begun), "a body that is being read is not drained")
		})
	}
}

func TestPanicOfASignerGivesTheProbeBack(t *testing.T) {
	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	c := newClient(t, func(c *httpclient.Config) {
		c.Breaker = b
		c.Sign = func(*http.Request) error { panic("signer") }
	})
	err = get(t, c, "http://h.example")
	assert.ErrorContains(t, err, "panic: signer")
	assert.Zero(t, b.Stats().InFlight)
}

// descriptors counts the open ones of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("counts /proc/self/fd")
	}
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// A hundred requests of every kind, half of the bodies left open, and all is given back.
func TestNoDescriptorIsLeft(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<16)) }
	plain := serve(t, answer)
	secure, trust := serveTLS(t, answer)
	round := func() {
		c := newClient(t, trust)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				url := [...]string{plain.URL, secure.URL, "http://127.0.0.1:1"}[i%3]
				resp, err := c.Do(request(t, "GET", url, nil))
				if err == nil && i%2 == 0 {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				assert.Equal(t, i%3 == 2, err != nil)
			})
		}
		wg.Wait()
		c.Close()
		c.Close()
		plain.CloseClientConnections()
		secure.CloseClientConnections()
	}
	round() // with what the runtime opens once
	before := descriptors(t)
	round()
	round()
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, time.Minute, 10*time.Millisecond)
}
