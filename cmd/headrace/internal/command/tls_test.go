package command_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

// identity is a certificate that is its own authority, with its key.
type identity struct {
	pair      tls.Certificate
	cert, key []byte // in PEM
}

func newIdentity(t *testing.T, name string) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return &identity{
		pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
}

// greet makes a connection from a client, and returns the name in the certificate of the server, and what the server says of the client.
func greet(server *tls.Config, client *identity) (name string, err error) {
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- tls.Server(there, server).Handshake() }()
	// With TLS 1.3, a client has ended its handshake before it is rejected.
	own := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS12}
	if client != nil {
		own.Certificates = []tls.Certificate{client.pair}
	}
	c := tls.Client(here, own)
	if c.Handshake() == nil {
		name = c.ConnectionState().PeerCertificates[0].Subject.CommonName + " " + c.ConnectionState().NegotiatedProtocol
	}
	return name, <-ended
}

// A certificate that is renewed is that of the next connections, without a restart.
func TestACertificateIsRenewed(t *testing.T) {
	t.Parallel()
	old, renewed, ann, bob := newIdentity(t, "old"), newIdentity(t, "renewed"), newIdentity(t, "ann"), newIdentity(t, "bob")
	folder := t.TempDir()
	cert, key, ca := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "ca.pem")
	write := func(path string, text []byte) { require.NoError(t, os.WriteFile(path, text, 0o600)) }
	write(cert, old.cert)
	write(key, old.key)
	write(ca, ann.cert)
	var said bytes.Buffer
	config, err := command.TLS(cert, key, ca, slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	expect := func(want string, client *identity) {
		t.Helper()
		name, err := greet(config, client)
		require.NoError(t, err)
		assert.Equal(t, want, name)
	}
	expect("old h2", ann)
	_, err = greet(config, nil)
	require.ErrorContains(t, err, "didn't provide a certificate")

	write(cert, renewed.cert)
	expect("old h2", ann)
	expect("old h2", ann)
	assert.Equal(t, 1, strings.Count(said.String(), "the previous ones stay in use"))
	write(key, renewed.key)
	expect("renewed h2", ann)
	require.NoError(t, os.Remove(key))
	expect("renewed h2", ann)
	write(key, renewed.key)

	_, err = greet(config, bob)
	require.Error(t, err)
	write(ca, append(bob.cert, ann.cert...))
	expect("renewed h2", bob)
	write(ca, bob.cert)
	_, err = greet(config, ann)
	require.Error(t, err)
	write(ca, []byte("no certificate"))
	expect("renewed h2", bob)
	assert.Equal(t, 3, strings.Count(said.String(), "the previous ones stay in use"))
}
