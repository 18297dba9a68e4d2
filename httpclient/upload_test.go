package httpclient_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/httpclient"
)

// A body that is never ready does not block the call, whether its length is known or not.
func TestUploadThatIsNeverReady(t *testing.T) {
	for _, length := range []int64{-1, 100} {
		for name, tc := range map[string]struct {
			end  func(c *httpclient.Client, cancel func())
			want error
		}{
			"the whole is over": {func(*httpclient.Client, func()) {}, httpclient.CodeHeaderTimeout},
			"canceled":          {func(_ *httpclient.Client, cancel func()) { cancel() }, context.Canceled},
			"closed":            {func(c *httpclient.Client, _ func()) { c.Close() }, httpclient.ErrClosed},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newClient(t, limits(func(l *httpclient.Timeouts) { l.Call = 9 * time.Second }))
					c.InMemory(stalls(""))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					body, _ := io.Pipe()
					req := request(t, "POST", "http://h.example", body).WithContext(ctx)
					req.ContentLength = length
					var err error
					var wg sync.WaitGroup
					wg.Go(func() { err = do1(c, req) })
					synctest.Wait()
					tc.end(c, cancel)
					wg.Wait()
					assert.ErrorIs(t, err, tc.want)
					assert.Equal(t, httpclient.PhaseSend, failure(t, err).Phase)
					if errors.Is(err, httpclient.CodeHeaderTimeout) {
						assert.Equal(t, 9*time.Second, failure(t, err).Elapsed)
					}
					_, err = body.Read(nil)
					assert.ErrorIs(t, err, io.ErrClosedPipe, "the body was closed")
				})
			})
		}
	}
}

func do1(c *httpclient.Client, req *http.Request) error {
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// Without a bound to the whole there is one to each piece that is sent.
func TestUploadThatNobodyTakes(t *testing.T) {
	for name, tc := range map[string]struct {
		every time.Duration // a piece is taken; 0: never
		late  bool
	}{
		"never": {0, true},
		"slow":  {time.Second / 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, func(c *httpclient.Config) {
					c.Timeouts = httpclient.Timeouts{BodyIdle: 7 * time.Second, NoCall: true}
				})
				over, begun := make(chan struct{}), time.Now()
				c.InMemory(func(conn net.Conn) {
					if tc.every == 0 {
						<-over
						return
					}
					after(func(c net.Conn) { _, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n") })(slowly{conn, tc.every})
				})
				err := do1(c, request(t, "POST", "http://h.example", strings.NewReader(strings.Repeat("x", 200<<10))))
				close(over)
				if !tc.late {
					assert.NoError(t, err)
					assert.Greater(t, time.Since(begun), 7*time.Second)
					return
				}
				assert.Equal(t, httpclient.CodeHeaderTimeout, failure(t, err).Code)
				assert.Equal(t, httpclient.PhaseSend, failure(t, err).Phase)
				assert.Equal(t, 7*time.Second, failure(t, err).Elapsed)
			})
		})
	}
}

type slowly struct {
	net.Conn
	every time.Duration
}

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(s.every)
	return s.Conn.Read(p)
}

// What Config.Wrap makes of a body is held to the limit too.
func TestUploadIsJudgedAsItIsSent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	c := newClient(t, func(c *httpclient.Config) {
		c.MaxRequest = 10
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("12345678901")), 11
				return next.RoundTrip(r)
			})
		}}
	})
	err := do1(c, request(t, "POST", s.URL, strings.NewReader("abc")))
	assert.Equal(t, httpclient.CodeBodyLimit, failure(t, err).Code)
	assert.Equal(t, httpclient.PhasePrepare, failure(t, err).Phase)
}

func TestEventOfAStream(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	var told requests
	c := newClient(t, func(c *httpclient.Config) { c.Observer = &told })
	require.NoError(t, do1(c, request(t, "POST", s.URL, struct{ io.Reader }{strings.NewReader("hello")})))
	assert.Equal(t, int64(5), told.one(t).Request.Sent)
}

// A body that is in memory goes out with the header, as net/http has it.
func TestUploadFromMemoryIsOnePacket(t *testing.T) {
	first := make(chan string, 1)
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, nil)
		c.InMemory(func(conn net.Conn) {
			b := make([]byte, 4<<10)
			n, _ := conn.Read(b)
			first <- string(b[:n])
			_, _ = io.WriteString(conn, ok+"Content-Length: 0\r\n\r\n")
		})
		require.NoError(t, do1(c, request(t, "POST", "http://h.example", strings.NewReader("hello"))))
	})
	assert.True(t, strings.HasSuffix(<-first, "\r\n\r\nhello"))
}

// Request.GetBody is asked by net/http, for a connection that was dead.
func TestPanicOfGetBodyGivesTheProbeBack(t *testing.T) {
	var served atomic.Int64
	address := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		if _, err := http.ReadRequest(r); err == nil && served.Add(1) == 1 {
			_, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
			_, _ = r.ReadByte()
		}
	})
	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	c := newClient(t, func(c *httpclient.Config) { c.Breaker = b })
	require.NoError(t, get(t, c, "http://"+address))
	req := request(t, "PUT", "http://"+address, strings.NewReader("abc"))
	req.Header.Set("Idempotency-Key", "1")
	req.GetBody = func() (io.ReadCloser, error) { panic("boom") }
	assert.ErrorContains(t, do1(c, req), "panic: boom")
	assert.Zero(t, b.Stats().InFlight)
	assert.Equal(t, breaker.Closed, b.Stats().State)
}

// The other side ends the stream, net/http closes the body, and what reads it fails: that is not this side's fault.
func TestUploadThatIsCutOff(t *testing.T) {
	cert, trusted := goodCertificate(t)
	address := listen(t, over(&tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}, h2(func(c net.Conn, s uint32) {
		frame(c, h2Reset, 0, s, []byte{0, 0, 0, 2})
	})))
	body, _ := io.Pipe()
	c := newClient(t, func(c *httpclient.Config) { c.RootCAs = trusted })
	err := do1(c, request(t, "POST", "https://"+address, body))
	assert.Equal(t, httpclient.CodeRead, failure(t, err).Code, "%v", err)
}
