package redact

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func request(t *testing.T, url string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// One canary for each way a secret can go.
func TestSecretsOfEachChannel(t *testing.T) {
	for channel, c := range map[string]struct {
		req  *http.Request
		text string
	}{
		"a header":               {request(t, "http://h/", "X-Api-Key", "canary"), "canary"},
		"a token without scheme": {request(t, "http://h/", "Authorization", "Bearer canary"), "canary"},
		"a value of the query":   {request(t, "http://h/?sig=canary"), "canary"},
		"a query without names":  {request(t, "http://h/?canary"), "canary"},
		"escaped":                {request(t, "http://h/?sig=can%2Fary"), "can%2Fary"},
		"unescaped":              {request(t, "http://h/?sig=can%2Fary"), "can/ary"},
		"a user":                 {request(t, "http://canary@h/"), "canary"},
		"a password":             {request(t, "http://me:canary@h/"), "canary"},
		"both":                   {request(t, "http://me:abc@h/"), "me:abc"},
	} {
		assert.Equal(t, "it is REDACTED!", Text("it is "+c.text+"!", Secrets(c.req)), channel)
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	req := request(t, "http://example.com:81/?to=example.com&at=Example.com:81&a=b&type=tcp", "Accept", "text/html", "User-Agent", "dial")
	assert.Empty(t, Secrets(req))
}

// A secret that begins with another does not leave its end.
func TestTheLongestGoesFirst(t *testing.T) {
	for range 20 { // headers come in any order
		req := request(t, "http://h/?b=canary", "X-A", "canarysecret", "X-B", "cana")
		assert.Equal(t, "REDACTED", Text("canarysecret", Secrets(req)))
	}
}

func TestErrorKeepsWhatIsHarmless(t *testing.T) {
	secrets := []string{"canary"}
	plain := &net.DNSError{Err: "no such host", Name: "h"}
	assert.Equal(t, error(plain), Error(plain, secrets), "errors.As goes on")
	assert.NoError(t, Error(nil, secrets))

	hushed := Error(fmt.Errorf("canary: %w", io.EOF), secrets)
	require.EqualError(t, hushed, "REDACTED: EOF")
	assert.ErrorIs(t, hushed, io.EOF)
	assert.NotErrorIs(t, hushed, io.ErrUnexpectedEOF)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", hushed, hushed, hushed), "canary")

	long := Error(errors.New(strings.Repeat("é", MaxText)), nil)
	assert.Len(t, long.Error(), MaxText+len("..."))
}

// What others decide by stays to be found, and only that, without the secrets.
func TestErrorKeepsWhatOthersDecideBy(t *testing.T) {
	secrets := []string{"canary"}
	unknown := &net.DNSError{Err: "no such host", Name: "canary.example", Server: "canary", IsNotFound: true}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: unknown}
	hushed := Error(fmt.Errorf("canary: %w", dial), secrets)

	op, ok := errors.AsType[*net.OpError](hushed)
	require.True(t, ok)
	assert.Equal(t, "dial tcp: lookup REDACTED.example on REDACTED: no such host", op.Error())
	found, ok := errors.AsType[*net.DNSError](hushed)
	require.True(t, ok)
	assert.Equal(t, &net.DNSError{Err: "no such host", Name: "REDACTED.example", Server: "REDACTED", IsNotFound: true}, found)

	refused := &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "canary"}}
	_, ok = errors.AsType[*tls.CertificateVerificationError](Error(refused, secrets))
	assert.True(t, ok)
	_, ok = errors.AsType[x509.HostnameError](Error(refused, secrets))
	assert.True(t, ok)

	own, ok := errors.AsType[*ownError](Error(fmt.Errorf("canary: %w", &ownError{"canary"}), secrets))
	require.True(t, ok)
	assert.Equal(t, "REDACTED", own.text)

	_, ok = errors.AsType[*plainError](Error(fmt.Errorf("canary: %w", &plainError{}), secrets))
	assert.False(t, ok, "nobody knows what it holds")
	_, ok = errors.AsType[*net.OpError](Saying("something", dial))
	assert.False(t, ok)
}

func TestErrorKeepsTimeouts(t *testing.T) {
	for _, timeout := range []bool{false, true} {
		hushed, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](Error(fmt.Errorf("canary: %w", &net.DNSError{IsTimeout: timeout}), []string{"canary"}))
		require.True(t, ok)
		assert.Equal(t, timeout, hushed.Timeout())
	}
}

type plainError struct{}

func (*plainError) Error() string { return "canary" }

type ownError struct{ text string }

func (e *ownError) Error() string                 { return e.text }
func (e *ownError) Redact(secrets []string) error { return &ownError{Text(e.text, secrets)} }

func TestSecretsInEachSpelling(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("somebody:canary"))
	for text, req := range map[string]*http.Request{
		"canary":     request(t, "http://h/", "Authorization", "Basic "+basic),
		"somebody":   request(t, "http://h/", "Authorization", "basic "+basic),
		basic:        request(t, "http://somebody:canary@h/"),
		"cookie1":    request(t, "http://h/", "Cookie", `a=b; sid="cookie1"; c=d`),
		`a\"b\\c`:    request(t, "http://h/", "X-Api-Key", `a"b\c`),
		`a%26b%3Dc`:  request(t, "http://h/", "X-Api-Key", `a&b=c`),
		`a\u0026b=c`: request(t, "http://h/", "X-Api-Key", `a&b=c`),
	} {
		assert.Equal(t, "it is REDACTED!", Text("it is "+text+"!", Secrets(req)), text)
	}
}
