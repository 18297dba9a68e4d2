package service_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

// newCertificate returns one that servers and clients on 127.0.0.1 can use.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// With client certificates the service listens on every address, and serves those that
// have one alone.
func TestClientCertificates(t *testing.T) {
	certificate := newCertificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(certificate.Leaf)
	c := service.Config{Text: []byte(limits), TLS: &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}}
	s, err := service.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	every, err := s.Listen(t.Context(), "0.0.0.0:0")
	require.NoError(t, err)
	require.NoError(t, every.Close())
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	x := serve(t, s, l, nil)
	x.url = "https://" + l.Addr().String()

	ours := x.client.Transport.(*http.Transport)
	ours.TLSClientConfig = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	ours.ForceAttemptHTTP2 = true
	a := x.post("check", `{"identifier":"a","resource":"x"}`, "Host", "limits.internal")
	assert.Equal(t, http.StatusOK, a.status, a.text)

	other := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer other.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url+"/healthz", nil)
	require.NoError(t, err)
	w, err := other.RoundTrip(r)
	if err == nil {
		_ = w.Body.Close()
	}
	require.ErrorContains(t, err, "certificate required")
}
