package split_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/service/internal/split"
)

// patience is how long a busy machine may take.
const patience = time.Minute

// serve serves both, with TLS unless it is nil, and returns the address.
func serve(t *testing.T, secure *tls.Config, c split.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	serveOn(t, l, c)
	return l.Addr().String()
}

func serveOn(t *testing.T, l net.Listener, c split.Config) {
	t.Helper()
	s := split.New(l, c)
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	healthpb.RegisterHealthServer(g, health.NewServer())
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	h := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+string(body))
	})}
	done := make(chan error, 3)
	go func() { done <- s.Serve() }()
	go func() { done <- g.Serve(s.GRPC()) }()
	go func() { done <- h.Serve(s.HTTP()) }()
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		g.Stop()
		_ = s.Close()
		for range 3 {
			if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				assert.NoError(t, err)
			}
		}
	})
}

// certificates are a server's and its client's.
func certificates(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	transport, ok := s.Client().Transport.(*http.Transport)
	require.True(t, ok)
	client = transport.TLSClientConfig.Clone()
	client.ServerName = "example.com"
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}, client
}

func healthy(t *testing.T, address string, c credentials.TransportCredentials) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(c))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	assert.Equal(t, healthpb.HealthCheckResponse_SERVING, answer.GetStatus())
}

// post posts several bodies on one connection.
func post(t *testing.T, url string, transport *http.Transport, want string) {
	t.Helper()
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: patience}
	for _, body := range []string{"one", "two", string(make([]byte, 40_000))} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.NopCloser(&slowReader{body}))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := c.Do(r)
		require.NoError(t, err)
		got, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want+" "+body, string(got))
	}
}

// slowReader gives some bytes at a time.
type slowReader struct{ rest string }

func (r *slowReader) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), 1000)], r.rest)
	if r.rest = r.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func protocols(http2 bool) *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	return &p
}

func TestCleartext(t *testing.T) {
	address := serve(t, nil, split.Config{})
	healthy(t, address, insecure.NewCredentials())
	post(t, "http://"+address, &http.Transport{Protocols: protocols(false)}, "HTTP/1.1")
	post(t, "http://"+address, &http.Transport{Protocols: protocols(true)}, "HTTP/2.0")
}

func TestTLS(t *testing.T) {
	server, client := certificates(t)
	address := serve(t, server, split.Config{})
	healthy(t, address, credentials.NewTLS(client))
	post(t, "https://"+address, &http.Transport{TLSClientConfig: client}, "HTTP/1.1")
	post(t, "https://"+address, &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, "HTTP/2.0")
}

// A client that says nothing loses its connection, and one that has only said HTTP/2 is one of gRPC.
func TestSilence(t *testing.T) {
	const timeout = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serveOn(t, l, split.Config{Timeout: timeout})
		c, err := l.Dial(t.Context(), "", "")
		require.NoError(t, err)
		began := time.Now()
		n, err := c.Read(make([]byte, 1))
		assert.Zero(t, n)
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, timeout, time.Since(began))
		require.NoError(t, c.Close())

		c, err = l.Dial(t.Context(), "", "")
		require.NoError(t, err)
		settings, pinged := make(chan time.Duration, 10), make(chan struct{}, 1)
		began = time.Now()
		go func() { // else neither side would read what the other one writes
			defer close(pinged)
			f := http2.NewFramer(nil, c)
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
					settings <- time.Since(began)
				} else if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
					pinged <- struct{}{}
				}
			}
		}()
		_, err = io.WriteString(c, http2.ClientPreface)
		require.NoError(t, err)
		f := http2.NewFramer(c, nil)
		require.NoError(t, f.WriteSettings())
		assert.Zero(t, <-settings, "those of the splitter")
		assert.Equal(t, timeout, <-settings, "those of the server")
		time.Sleep(timeout)
		require.NoError(t, f.WritePing(false, [8]byte{7}))
		_, ok := <-pinged
		assert.True(t, ok)
		require.NoError(t, c.Close())
	})
}

// As many connections as may be silent keep others out, but not those that have a server.
func TestMost(t *testing.T) {
	address := serve(t, nil, split.Config{Most: 1, Timeout: time.Hour})
	healthy(t, address, insecure.NewCredentials())
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	closed := func() bool {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		require.NoError(t, c.SetDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = c.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	require.Eventually(t, closed, patience, time.Millisecond)
	require.NoError(t, silent.Close())
	require.Eventually(t, func() bool { return !closed() }, patience, time.Millisecond)
}

// A server that accepts no more connections does not keep clients of the other one out.
func TestOneServerIsFull(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := split.New(l, split.Config{Timeout: 50 * time.Millisecond, Most: 1})
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	defer func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		return c
	}
	c := dial() // nothing accepts it: it is one of gRPC
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, http2.ClientPreface)
	require.NoError(t, err)
	_, err = io.ReadAll(c)
	require.NoError(t, err, "it is closed")
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := s.HTTP().Accept()
		assert.NoError(t, err)
		accepted <- c
	}()
	require.Eventually(t, func() bool {
		c := dial()
		defer func() { _ = c.Close() }()
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\n")
		if err != nil {
			return false
		}
		select {
		case a := <-accepted:
			return a.Close() == nil
		case <-time.After(100 * time.Millisecond):
			return false
		}
	}, patience, time.Millisecond)
}

// What is read before a connection has a server is bounded.
func TestManyBytesBeforeARequest(t *testing.T) {
	c, err := net.Dial("tcp", serve(t, nil, split.Config{Timeout: time.Minute}))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(c, http2.ClientPreface)
	require.NoError(t, err)
	f := http2.NewFramer(c, nil)
	for range 6 { // fewer than the bound on frames
		if f.WriteRawFrame(0xfa, 0, 0, make([]byte, 16<<10)) != nil {
			return
		}
	}
	_, err = io.Copy(io.Discard, c)
	if err != nil {
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is closed")
	}
}
