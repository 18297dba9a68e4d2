package httpclient_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

// certificate is self-signed for the hosts; pool trusts it.
func certificate(t *testing.T, until time.Time, hosts ...string) (cert tls.Certificate, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func goodCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	return certificate(t, time.Now().Add(time.Hour), "127.0.0.1")
}

// over serves inside TLS.
func over(config *tls.Config, serve func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		s := tls.Server(c, config)
		if s.Handshake() == nil {
			serve(s)
		}
	}
}

func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// The frames of HTTP/2, RFC 9113.
const (
	h2Data, h2Headers, h2Reset, h2Settings, h2Ping, h2GoAway = 0, 1, 3, 4, 6, 7
	endStream, endHeaders, ack                               = 1, 4, 1
)

func frame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	_, _ = w.Write(append(b, payload...))
}

// status200 is an answer's header in HPACK, with further fields.
func status200(fields ...string) []byte {
	b := []byte{0x88}
	for i := 0; i < len(fields); i += 2 {
		b = append(b, 0, byte(len(fields[i])))
		b = append(b, fields[i]...)
		b = append(b, byte(len(fields[i+1])))
		b = append(b, fields[i+1]...)
	}
	return b
}

// h2 speaks HTTP/2 by hand and calls answer for each request, once its stream is known.
func h2(answer func(c net.Conn, stream uint32)) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		if _, err := r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
			return
		}
		frame(c, h2Settings, 0, 0, nil)
		for {
			var head [9]byte
			if _, err := io.ReadFull(r, head[:]); err != nil {
				return
			}
			length := int(binary.BigEndian.Uint32(head[:4]) >> 8)
			if _, err := r.Discard(length); err != nil {
				return
			}
			switch kind, flags := head[3], head[4]; {
			case kind == h2Settings && flags&ack == 0:
				frame(c, h2Settings, ack, 0, nil)
			case kind == h2Headers:
				answer(c, binary.BigEndian.Uint32(head[5:]))
			}
		}
	}
}

// newClient returns a client with short timeouts that is closed after the test.
func newClient(t *testing.T, change func(*httpclient.Config)) *httpclient.Client {
	t.Helper()
	config := httpclient.Config{Service: "test", Timeouts: httpclient.Timeouts{
		Connect: 10 * time.Second, TLS: 10 * time.Second, Header: 10 * time.Second, BodyIdle: 10 * time.Second, Call: 20 * time.Second,
	}}
	if change != nil {
		change(&config)
	}
	c, err := httpclient.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// get reads url to the end of its body.
func get(t *testing.T, c *httpclient.Client, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// failure is the *Error in err.
func failure(t *testing.T, err error) *httpclient.Error {
	t.Helper()
	require.Error(t, err)
	failed, ok := errors.AsType[*httpclient.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return failed
}
