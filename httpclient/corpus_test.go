package httpclient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

const (
	short = 2 * time.Millisecond // for what never comes, where nothing else can be late first
	ok    = "HTTP/1.1 200 OK\r\n"
)

// bomb is 1 MiB of zeros in about 1 KiB.
func bomb(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

type failing struct {
	name   string
	serve  func(net.Conn) // nil: nothing listens
	tls    bool
	change func(*httpclient.Config)
	code   httpclient.Code
	phase  httpclient.Phase
}

func (f failing) run(t *testing.T) {
	t.Helper()
	address := "127.0.0.1:1"
	if f.serve != nil {
		address = listen(t, f.serve)
	}
	f.check(t, newClient(t, f.change), address)
}

// runInMemory is for what a busy machine could make late elsewhere.
func (f failing) runInMemory(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, f.change)
		c.InMemory(f.serve)
		f.check(t, c, "127.0.0.1")
	})
}

func (f failing) check(t *testing.T, c *httpclient.Client, address string) {
	t.Helper()
	scheme := "http://"
	if f.tls {
		scheme = "https://"
	}
	err := get(t, c, scheme+address+"/x")
	failed := failure(t, err)
	assert.Equal(t, f.code, failed.Code, "%v", err)
	assert.Equal(t, f.phase, failed.Phase, "%v", err)
	assert.ErrorIs(t, err, f.code)
	assert.NotErrorIs(t, err, httpclient.CodeUnknown)
	assert.Equal(t, 1, failed.Attempt)
	assert.Positive(t, failed.Elapsed)
}

func limits(change func(*httpclient.Timeouts)) func(*httpclient.Config) {
	return func(c *httpclient.Config) { change(&c.Timeouts) }
}

// The corpus over HTTP/1.1, every fault from a raw socket.
func TestCorpusOverHTTP1(t *testing.T) {
	for _, f := range []failing{
		{name: "refused", code: httpclient.CodeConnect, phase: httpclient.PhaseConnect},
		{
			name: "connect timeout", change: limits(func(l *httpclient.Timeouts) { l.Connect = 1 }),
			code: httpclient.CodeConnectTimeout, phase: httpclient.PhaseConnect,
		},
		{
			name: "header hang", serve: stalls(""), change: limits(func(l *httpclient.Timeouts) { l.Header = short }),
			code: httpclient.CodeHeaderTimeout, phase: httpclient.PhaseHeader,
		},
		{
			name: "half a header", serve: stalls(ok + "Content-"), change: limits(func(l *httpclient.Timeouts) { l.Header = short }),
			code: httpclient.CodeHeaderTimeout, phase: httpclient.PhaseHeader,
		},
		{name: "EOF", serve: says(""), code: httpclient.CodeRead, phase: httpclient.PhaseHeader},
		{name: "RST", serve: after(reset), code: httpclient.CodeRead, phase: httpclient.PhaseHeader},
		{name: "garbage", serve: says("\x00\x01 what is this\r\n\r\n"), code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader},
		{name: "garbage in the header", serve: says(ok + "no colon\r\n\r\n"), code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader},
		{
			name: "huge header", serve: says(ok + "A: " + strings.Repeat("a", 1<<16) + "\r\n\r\n"),
			change: func(c *httpclient.Config) { c.MaxHeader = 1 << 10 }, code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader,
		},
		{
			name: "duplicate Content-Length", serve: says(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader,
		},
		{
			name: "another protocol that was not asked for", serve: stalls("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseBody,
		},
		{name: "truncated", serve: says(ok + "Content-Length: 10\r\n\r\nabc"), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{name: "truncated chunks", serve: says(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab"), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{name: "RST in the body", serve: after(func(c net.Conn) {
			_, _ = io.WriteString(c, ok+"Content-Length: 10\r\n\r\nabc")
			reset(c)
		}), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{
			name: "stalled", serve: stalls(ok + "Content-Length: 10\r\n\r\nabc"),
			change: limits(func(l *httpclient.Timeouts) { l.BodyIdle = short }), code: httpclient.CodeReadTimeout, phase: httpclient.PhaseBody,
		},
		{
			name: "bad chunk", serve: says(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n"),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseBody,
		},
		{
			name: "bad end of a chunk", serve: says(ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseBody,
		},
		{
			name: "bomb", serve: says(ok + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + bomb(t)),
			change: func(c *httpclient.Config) { c.MaxResponse = 1 << 16 }, code: httpclient.CodeBodyLimit, phase: httpclient.PhaseBody,
		},
		{
			name: "no gzip", serve: says(ok + "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\nhello, world"),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseBody,
		},
	} {
		t.Run(f.name, f.run)
	}
}

// The whole of an attempt is over at each of its phases.
func TestCorpusCall(t *testing.T) {
	call := limits(func(l *httpclient.Timeouts) { l.Call = 9 * time.Second })
	for _, f := range []failing{
		{name: "TLS", tls: true, serve: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, code: httpclient.CodeTLS, phase: httpclient.PhaseTLS},
		{name: "header", serve: stalls(""), code: httpclient.CodeHeaderTimeout, phase: httpclient.PhaseHeader},
		{
			name: "body", serve: stalls(ok + "Content-Length: 10\r\n\r\nabc"),
			code: httpclient.CodeReadTimeout, phase: httpclient.PhaseBody,
		},
	} {
		f.change = call
		t.Run(f.name, f.runInMemory)
	}
}

func TestCorpusDNS(t *testing.T) {
	nobody := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no server")
	}}
	c := newClient(t, func(c *httpclient.Config) { c.Resolver = nobody })
	err := get(t, c, "http://nowhere.example/x")
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeDNS, failed.Code)
	assert.Equal(t, httpclient.PhaseConnect, failed.Phase)
}

// Every fault of TLS comes from a raw socket too.
func TestCorpusTLS(t *testing.T) {
	good, trusted := goodCertificate(t)
	other, otherTrusted := certificate(t, time.Now().Add(time.Hour), "elsewhere.example")
	expired, expiredTrusted := certificate(t, time.Now().Add(-time.Hour), "127.0.0.1")
	hello := says(ok + "Content-Length: 0\r\n\r\n")
	with := func(cert tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{cert}} }
	old := with(good)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	mutual := with(good)
	mutual.ClientAuth = tls.RequireAnyClientCert
	trust := func(c *httpclient.Config) { c.RootCAs = trusted }
	for _, f := range []failing{
		{name: "unknown authority", serve: over(with(good), hello)},
		{name: "another name", serve: over(with(other), hello), change: func(c *httpclient.Config) { c.RootCAs = otherTrusted }},
		{name: "expired", serve: over(with(expired), hello), change: func(c *httpclient.Config) { c.RootCAs = expiredTrusted }},
		{name: "TLS 1.1", serve: over(old, hello), change: trust},
		{name: "hangs up", serve: func(c net.Conn) { _, _ = c.Read(make([]byte, 10)) }, change: trust},
		{name: "resets", serve: func(c net.Conn) { _, _ = c.Read(make([]byte, 10)); reset(c) }, change: trust},
		{name: "no TLS", serve: func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}, change: trust},
		{
			name: "hangs", serve: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
			change: func(c *httpclient.Config) { c.RootCAs, c.Timeouts.TLS = trusted, short },
		},
	} {
		f.tls, f.code, f.phase = true, httpclient.CodeTLS, httpclient.PhaseTLS
		t.Run(f.name, f.run)
	}
	t.Run("wants a certificate", func(t *testing.T) { // reported after the handshake
		address := listen(t, over(mutual, hello))
		err := get(t, newClient(t, trust), "https://"+address)
		assert.Equal(t, httpclient.CodeTLS, failure(t, err).Code, "%v", err)
	})
}

// The corpus over HTTP/2: by hand inside TLS, and two by the server of net/http.
func TestCorpusOverHTTP2(t *testing.T) {
	cert, trusted := goodCertificate(t)
	config := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	answer := func(f func(c net.Conn, stream uint32)) func(net.Conn) { return over(config, h2(f)) }
	goAway := func(code byte) failing { // the stream is not among those that are still served
		return failing{name: fmt.Sprintf("GOAWAY %d at once", code), serve: answer(func(c net.Conn, _ uint32) {
			frame(c, h2GoAway, 0, 0, []byte{0, 0, 0, 0, 0, 0, 0, code})
		}), code: httpclient.CodeRead, phase: httpclient.PhaseHeader}
	}
	header := func(c net.Conn, stream uint32, fields ...string) {
		frame(c, h2Headers, endHeaders, stream, status200(fields...))
	}
	for _, f := range []failing{
		{
			name: "header hang", serve: answer(func(net.Conn, uint32) {}),
			change: limits(func(l *httpclient.Timeouts) { l.Header = short }), code: httpclient.CodeHeaderTimeout, phase: httpclient.PhaseHeader,
		},
		{name: "EOF", serve: answer(func(c net.Conn, _ uint32) { _ = c.Close() }), code: httpclient.CodeRead, phase: httpclient.PhaseHeader},
		{name: "RST", serve: answer(func(c net.Conn, _ uint32) { reset(c) }), code: httpclient.CodeRead, phase: httpclient.PhaseHeader},
		{
			name: "RST_STREAM", serve: answer(func(c net.Conn, s uint32) { frame(c, h2Reset, 0, s, []byte{0, 0, 0, 2}) }),
			code: httpclient.CodeRead, phase: httpclient.PhaseHeader,
		},
		{name: "GOAWAY", serve: answer(func(c net.Conn, s uint32) {
			frame(c, h2GoAway, 0, 0, []byte{0, 0, 0, byte(s), 0, 0, 0, 2})
			_ = c.Close()
		}), code: httpclient.CodeRead, phase: httpclient.PhaseHeader},
		goAway(1),
		goAway(2),
		goAway(11),
		goAway(13),
		{
			name: "garbage", serve: answer(func(c net.Conn, _ uint32) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader,
		},
		{
			name: "bad HPACK", serve: answer(func(c net.Conn, s uint32) { frame(c, h2Headers, endHeaders, s, []byte{0xff, 0xff, 0xff}) }),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader,
		},
		{
			name: "no status", serve: answer(func(c net.Conn, s uint32) { frame(c, h2Headers, endHeaders, s, status200("a", "b")[1:]) }),
			code: httpclient.CodeProtocol, phase: httpclient.PhaseHeader,
		},
		{name: "truncated", serve: answer(func(c net.Conn, s uint32) {
			header(c, s, "content-length", "10")
			frame(c, h2Data, endStream, s, []byte("abc"))
		}), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{name: "more than declared", serve: answer(func(c net.Conn, s uint32) {
			header(c, s, "content-length", "1")
			frame(c, h2Data, endStream, s, []byte("abc"))
		}), code: httpclient.CodeProtocol, phase: httpclient.PhaseBody},
		{name: "EOF in the body", serve: answer(func(c net.Conn, s uint32) {
			header(c, s)
			frame(c, h2Data, 0, s, []byte("abc"))
			_ = c.Close()
		}), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{name: "RST_STREAM in the body", serve: answer(func(c net.Conn, s uint32) {
			header(c, s)
			frame(c, h2Reset, 0, s, []byte{0, 0, 0, 2})
		}), code: httpclient.CodeRead, phase: httpclient.PhaseBody},
		{name: "stalled", serve: answer(func(c net.Conn, s uint32) {
			header(c, s)
			frame(c, h2Data, 0, s, []byte("abc"))
		}), change: limits(func(l *httpclient.Timeouts) { l.BodyIdle = short }), code: httpclient.CodeReadTimeout, phase: httpclient.PhaseBody},
		{name: "bomb", serve: answer(func(c net.Conn, s uint32) {
			header(c, s, "content-encoding", "gzip")
			frame(c, h2Data, endStream, s, []byte(bomb(t)))
		}), change: func(c *httpclient.Config) { c.MaxResponse = 1 << 16 }, code: httpclient.CodeBodyLimit, phase: httpclient.PhaseBody},
	} {
		f.tls = true
		change := f.change
		f.change = func(c *httpclient.Config) {
			c.RootCAs = trusted
			if change != nil {
				change(c)
			}
		}
		t.Run(f.name, f.run)
	}
}

// net/http would send it again for as long as it may.
func TestCorpusEndlessResends(t *testing.T) {
	cert, trusted := goodCertificate(t)
	config := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	var served atomic.Int64
	address := listen(t, over(config, h2(func(c net.Conn, s uint32) {
		served.Add(1)
		frame(c, h2Reset, 0, s, []byte{0, 0, 0, 1})
	})))
	err := get(t, newClient(t, func(c *httpclient.Config) { c.RootCAs = trusted }), "https://"+address)
	failed := failure(t, err)
	assert.Equal(t, httpclient.CodeRead, failed.Code, "%v", err)
	assert.Equal(t, int64(failed.Attempt), served.Load(), "every one is counted")
	assert.LessOrEqual(t, failed.Attempt, 10)
}

func TestCorpusHugeHeaderOverHTTP2(t *testing.T) {
	s, trust := serveTLS(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("a", 1<<16)) })
	err := get(t, newClient(t, func(c *httpclient.Config) { trust(c); c.MaxHeader = 1 << 10 }), s.URL)
	assert.Equal(t, httpclient.CodeProtocol, failure(t, err).Code, "%v", err)
}

// serveTLS serves HTTP/2, and returns what makes a client trust it.
func serveTLS(t *testing.T, h http.HandlerFunc) (*httptest.Server, func(*httpclient.Config)) {
	t.Helper()
	cert, trusted := goodCertificate(t)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, func(c *httpclient.Config) { c.RootCAs = trusted }
}
