package group

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire is a listener whose connections are in memory, so that a server on it can run in virtual time.
type wire struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), done: make(chan struct{})} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case w.conns <- b:
		return a, nil
	case <-w.done:
	case <-ctx.Done():
	}
	return nil, errors.New("connection refused")
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// replicaIn is a replica of a service on its own host in memory, over HTTPS.
type replicaIn struct {
	*Handler

	url   *url.URL
	wire  *wire
	roots *x509.CertPool
	stop  func()
}

func newReplica(t *testing.T, host string, e Election) *replicaIn {
	t.Helper()
	u := &url.URL{Scheme: "https", Host: host, Path: Path}
	h, err := NewHandler(HandlerConfig{Election: e, URL: u.String()})
	require.NoError(t, err)
	w := newWire()
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	server := httptest.NewUnstartedServer(mux)
	require.NoError(t, server.Listener.Close())
	server.Listener = w
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r := &replicaIn{Handler: h, url: u, wire: w, roots: roots}
	var once sync.Once
	r.stop = func() { once.Do(func() { _ = w.Close(); h.Close(); server.Close() }) }
	t.Cleanup(r.stop)
	return r
}

// joining is a member of the replicas in memory.
func joining(t *testing.T, replicas ...*replicaIn) *Group {
	t.Helper()
	s := &service{token: func() (string, error) { return "", nil }}
	s.transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsFor(replicas[0].roots)}
	hosts := map[string]*replicaIn{}
	for _, r := range replicas {
		s.replicas = append(s.replicas, r.url)
		hosts[r.url.Host+":443"] = r
	}
	s.transport.DialContext = func(ctx context.Context, network, at string) (net.Conn, error) {
		if hosts[at] == nil {
			return nil, errors.New("no such host")
		}
		return hosts[at].wire.dial(ctx, network, at)
	}
	g, err := join(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// OverHTTPS returns a group that joined a service over HTTPS, in virtual time.
func OverHTTPS(t *testing.T) *Group {
	t.Helper()
	r := newReplica(t, "example.com", nil)
	time.Sleep(time.Second) // it waits for the members of a leader before it
	return joining(t, r)
}

func tlsFor(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
