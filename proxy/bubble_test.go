package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// handler is an upstream without a network: a transport that calls it.
type handler func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements http.RoundTripper.
func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	read, write := io.Pipe()
	w := &piped{header: http.Header{}, begun: make(chan struct{}), PipeWriter: write}
	go func() {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusOK)
				_ = write.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = write.Close()
		}()
		h(w, in)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = read.Close()
		return nil, context.Cause(r.Context())
	}
	context.AfterFunc(r.Context(), func() { _ = read.CloseWithError(context.Cause(r.Context())) }) //nolint:contextcheck // it is its
	length, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, Body: read, ContentLength: length, Request: r,
	}, nil
}

type piped struct {
	*io.PipeWriter

	header, sent http.Header
	once         sync.Once
	status       int
	begun        chan struct{}
}

func (p *piped) Header() http.Header { return p.header }

func (p *piped) WriteHeader(status int) {
	p.once.Do(func() { p.status, p.sent = status, p.header.Clone(); close(p.begun) })
}

func (p *piped) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.PipeWriter.Write(b)
}

func (*piped) Flush() {}

// inBubble runs f in virtual time with a proxy before an upstream "up", to which
// it talks over pipes.
func inBubble(t *testing.T, c proxy.Config, upstream handler, f func(s *bubble)) {
	t.Helper()
	inBubbleWith(t, c, func() handler { return upstream }, f)
}

// inBubbleWith has the upstream made inside of the bubble.
func inBubbleWith(t *testing.T, c proxy.Config, upstream func() handler, f func(s *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(registry.Config{})
		require.NoError(t, err)
		c.Registry, c.Base = r, upstream()
		if c.Upstreams == nil {
			c.Upstreams = map[string]proxy.Upstream{"up": {URL: "http://up.test"}}
		}
		p, err := proxy.New(c)
		require.NoError(t, err)
		l := pipenet.Listen()
		s := &bubble{t: t, proxy: p, pipes: l}
		server := p.Server()
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(l) }()
		own := &http.Transport{DialContext: l.Dial, DisableCompression: true}
		s.http = &http.Client{Transport: own}
		f(s)
		own.CloseIdleConnections()
		_ = server.Close()
		<-served
		time.Sleep(time.Second) // in which net/http closes a connection with an unread request
		synctest.Wait()
	})
}

type bubble struct {
	t     *testing.T
	proxy *proxy.Proxy
	pipes *pipenet.Listener
	http  *http.Client
}

// http2 is a client that speaks HTTP/2 without TLS. Close its idle connections.
func (s *bubble) http2() *http.Transport {
	own := &http.Transport{DialContext: s.pipes.Dial, Protocols: new(http.Protocols)}
	own.Protocols.SetUnencryptedHTTP2(true)
	return own
}

// request makes a request; the headers are names and values in turn.
func (*bubble) request(ctx context.Context, path, body string, headers ...string) *http.Request {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a request and reads its answer.
func (s *bubble) do(r *http.Request) (reply, error) {
	resp, err := s.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b)}, err
}

// get sends a GET, or a POST if there is a body.
func (s *bubble) get(t *testing.T, path, body string, headers ...string) reply {
	t.Helper()
	got, err := s.do(s.request(t.Context(), path, body, headers...))
	require.NoError(t, err)
	return got
}

// raw writes bytes to the handler of a connection, and reads one answer.
func raw(t *testing.T, p *proxy.Proxy, text string) reply {
	t.Helper()
	l := httptest.NewUnstartedServer(p)
	l.Config = p.Server()
	l.Start()
	defer l.Close()
	c, err := net.Dial("tcp", l.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}
