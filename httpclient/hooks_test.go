package httpclient_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

func TestClientCertificate(t *testing.T) {
	cert, trusted := goodCertificate(t)
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	require.NoError(t, err)
	pool.AddCert(leaf)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Proto))
	}))
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if !leaf.Equal(must(t, raw[0])) {
				return errors.New("another certificate")
			}
			return nil
		},
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	for name, c := range map[string]struct {
		tls *tls.Config
		ok  bool
	}{
		"none":       {nil, false},
		"given":      {&tls.Config{Certificates: []tls.Certificate{cert}}, true},
		"when asked": {&tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }}, true},
	} {
		client := newClient(t, func(config *httpclient.Config) { config.RootCAs, config.TLS = trusted, c.tls })
		if !c.ok {
			assert.Error(t, get(t, client, s.URL), name)
			continue
		}
		assert.Equal(t, "HTTP/2.0", do(t, client, request(t, "GET", s.URL, nil)), name)
		assert.Empty(t, c.tls.NextProtos, "it is copied")
	}
}

func must(t *testing.T, raw []byte) *x509.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return leaf
}

// Proxy is for hosts that Proxies does not name.
func TestProxyFunction(t *testing.T) {
	proxied := func(name string) *url.URL {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(name + " " + r.Host)) })
		u, err := url.Parse(s.URL)
		require.NoError(t, err)
		return u
	}
	named, chosen := proxied("named"), proxied("chosen")
	c := newClient(t, func(c *httpclient.Config) {
		c.Proxies = map[string]*url.URL{"named.example": named}
		c.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Hostname() == "broken.example" {
				return nil, errors.New("no proxy for " + canary)
			}
			return chosen, nil
		}
	})
	assert.Equal(t, "named named.example", do(t, c, request(t, "GET", "http://named.example/", nil)))
	assert.Equal(t, "chosen other.example", do(t, c, request(t, "GET", "http://other.example/", nil)))
	assert.ErrorContains(t, get(t, c, "http://broken.example/"), "no proxy for")
}

func TestDialFunction(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host)) })
	var asked string
	c := newClient(t, func(c *httpclient.Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			asked = address
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}
	})
	assert.Equal(t, "service.internal", do(t, c, request(t, "GET", "http://service.internal/", nil)))
	assert.Equal(t, "service.internal:80", asked)

	gone := errors.New("gone")
	for name, f := range map[string]func() (net.Conn, error){
		"fails":   func() (net.Conn, error) { return nil, gone },
		"panics":  func() (net.Conn, error) { panic("oops") },
		"nothing": func() (net.Conn, error) { return nil, nil },
	} {
		c := newClient(t, func(c *httpclient.Config) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) { return f() }
		})
		failed := failure(t, get(t, c, "http://h/"))
		assert.Equal(t, httpclient.CodeConnect, failed.Code, "%s: %v", name, failed)
		assert.Equal(t, name == "fails", errors.Is(failed, gone))
		assert.Equal(t, name == "panics", errors.As(failed, new(*fault.PanicError)))
	}
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(c *httpclient.Config) {
			c.Timeouts.Connect = 3 * time.Second
			c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
		})
		failed := failure(t, get(t, c, "http://h/"))
		assert.Equal(t, httpclient.CodeConnectTimeout, failed.Code, "%v", failed)
		assert.Equal(t, 3*time.Second, failed.Elapsed)
	})
}

func TestHooksThatContradict(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	for _, c := range []struct {
		config httpclient.Config
		field  string
		text   string
	}{
		{httpclient.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS11}}, "TLS", "TLS 1.2"},
		{httpclient.Config{TLS: &tls.Config{MaxVersion: tls.VersionTLS11}}, "TLS", "TLS 1.2"},
		{httpclient.Config{TLS: &tls.Config{NextProtos: []string{"h2"}}}, "TLS", "NextProtos"},
		{httpclient.Config{TLS: &tls.Config{RootCAs: x509.NewCertPool()}, RootCAs: x509.NewCertPool()}, "RootCAs", "contradicts"},
		{httpclient.Config{Proxy: http.ProxyFromEnvironment, Gate: &httpclient.Gate{}}, "Proxy", "contradicts Gate"},
		{httpclient.Config{Dial: dial, Gate: &httpclient.Gate{}}, "Dial", "contradicts Gate"},
		{httpclient.Config{Dial: dial, Resolver: &net.Resolver{}}, "Dial", "contradicts Resolver"},
	} {
		_, err := httpclient.New(c.config)
		var field *fault.FieldError
		require.ErrorAs(t, err, &field)
		assert.Equal(t, c.field, field.Field)
		assert.Contains(t, field.Problem, c.text)
	}
	require.NoError(t, httpclient.Config{Proxy: http.ProxyFromEnvironment, TLS: &tls.Config{}, Dial: dial}.Validate())
}
