package proxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
)

// certificate is a new one, signed by parent or by itself.
func certificate(t *testing.T, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: parent == nil,
	}
	by, signer := of, key
	if parent != nil {
		by, signer = parent.Leaf, parent.PrivateKey.(*ecdsa.PrivateKey)
	}
	der, err := x509.CreateCertificate(rand.Reader, of, by, &key.PublicKey, signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Clients with a certificate may come from other machines, over HTTP/2 too; others
// get no connection.
func TestCertificatesOfClients(t *testing.T) {
	ca := certificate(t, "ca", nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	own := certificate(t, "localhost", ca)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }))
	defer up.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	p, err := proxy.New(proxy.Config{
		Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: up.URL}},
		TLS: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*own}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
	})
	require.NoError(t, err)
	l, err := p.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	s := p.Server()
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	defer func() { _ = s.Close(); <-served }()

	for _, c := range []struct {
		certificates []tls.Certificate
		http2, ok    bool
	}{{[]tls.Certificate{*certificate(t, "client", ca)}, true, true}, {[]tls.Certificate{*certificate(t, "client", ca)}, false, true}, {nil, true, false}} {
		transport := &http.Transport{
			ForceAttemptHTTP2: c.http2,
			TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: c.certificates, ServerName: "localhost"},
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/up/v1", nil)
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if !c.ok {
			require.Error(t, err)
			transport.CloseIdleConnections()
			continue
		}
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		_ = resp.Body.Close()
		assert.Equal(t, "done", string(b))
		assert.Equal(t, c.http2, resp.ProtoMajor == 2)
		transport.CloseIdleConnections()
	}
}
