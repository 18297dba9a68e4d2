package httpclient_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/retry"
)

// A value that an error happens to say does not decide whether a request is sent again.
func TestScrubbingChangesNoDecision(t *testing.T) {
	s, _ := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	attempts := 0
	c := newClient(t, func(c *httpclient.Config) {
		c.Wrap = []func(http.RoundTripper) http.RoundTripper{
			resend(retry.Policy{MaxAttempts: 4, Initial: 1}),
			func(next http.RoundTripper) http.RoundTripper {
				return tripper(func(r *http.Request) (*http.Response, error) { attempts++; return next.RoundTrip(r) })
			},
		}
	})
	err := do1(c, request(t, "POST", s.URL+"/?q=x509&r=certificate", nil))
	assert.Equal(t, httpclient.CodeTLS, failure(t, err).Code)
	assert.Contains(t, err.Error(), "REDACTED")
	assert.Equal(t, 1, attempts)
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	assert.True(t, ok)

	err = get(t, newClient(t, nil), "http://127.0.0.1:1/?q=dial&r=connect")
	refused, ok := errors.AsType[*net.OpError](err)
	if assert.True(t, ok) {
		assert.Equal(t, "dial", refused.Op)
		assert.NotContains(t, refused.Error(), "connect:")
	}
}

// What is in the path anyway is no secret.
func TestScrubbingLeavesThePath(t *testing.T) {
	err := get(t, newClient(t, nil), "http://127.0.0.1:1/connect?q=connect")
	assert.Contains(t, errors.Unwrap(err).Error(), "connect: ")
}

// The other side repeats what it got, in each of the ways that a secret is sent.
func TestScrubbingOfEachSpelling(t *testing.T) {
	const odd = `t0k"en\` + canary
	for name, tc := range map[string]struct {
		dress func(*http.Request)
		sign  func(*http.Request) error
		echo  string
	}{
		"a password": {
			dress: func(r *http.Request) { r.SetBasicAuth("somebody", canary) }, echo: canary,
		},
		"a user with a password": {
			dress: func(r *http.Request) { r.SetBasicAuth(canary, "pw") }, echo: canary,
		},
		"one of the cookies": {
			dress: func(r *http.Request) { r.Header.Set("Cookie", "a=b; sid="+canary+"; c=d") }, echo: canary,
		},
		"a value that is quoted": {
			dress: func(r *http.Request) { r.Header.Set("X-Api-Key", odd) }, echo: odd,
		},
		"a header that is harmless otherwise": {
			sign: func(r *http.Request) error { r.Header.Set("X-Correlation-Id", "Bearer "+canary); return nil }, echo: canary,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, func(c *httpclient.Config) { c.Sign = tc.sign })
			req := request(t, "GET", "http://"+listen(t, says("HTTP/1.1 "+tc.echo+" nope\r\n\r\n")), nil)
			if tc.dress != nil {
				tc.dress(req)
			}
			err := do1(c, req)
			assert.Equal(t, httpclient.CodeProtocol, failure(t, err).Code)
			assert.Contains(t, err.Error(), "REDACTED")
			noCanary(t, err)
		})
	}
}
