package replay_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/replay"
)

func TestIdempotent(t *testing.T) {
	for _, tc := range []struct {
		method, field, value string
		want                 bool
	}{
		{"", "", "", true},
		{"GET", "", "", true},
		{"HEAD", "", "", true},
		{"OPTIONS", "", "", true},
		{"TRACE", "", "", true},
		{"PUT", "", "", true},
		{"DELETE", "", "", true},
		{"POST", "", "", false},
		{"PATCH", "", "", false},
		{"CONNECT", "", "", false},
		{"get", "", "", false},
		{"QUERY", "", "", false},
		{"POST", "Idempotency-Key", "a", true},
		{"PATCH", "X-Idempotency-Key", "a", true},
		{"POST", "Idempotency-Key", "", false},
		{"POST", "X-Idempotency-Key", "", false},
		{"POST", "Correlation-Id", "a", false},
	} {
		req := &http.Request{Method: tc.method}
		if tc.field != "" {
			req.Header = http.Header{tc.field: {tc.value}}
		}
		assert.Equal(t, tc.want, replay.Idempotent(req), "%+v", tc)
	}
}

func TestOfStatus(t *testing.T) {
	for _, tc := range []struct {
		status int
		told   bool
		want   replay.Outcome
	}{
		{200, false, replay.Final},
		{200, true, replay.Final},
		{304, false, replay.Final},
		{400, true, replay.Final},
		{401, false, replay.Final},
		{408, false, replay.Failed},
		{408, true, replay.Failed},
		{409, true, replay.Final},
		{425, false, replay.Final},
		{428, false, replay.Final},
		{429, false, replay.Refused},
		{429, true, replay.Refused},
		{431, false, replay.Final},
		{499, false, replay.Final},
		{500, false, replay.Failed},
		{500, true, replay.Failed},
		{502, false, replay.Failed},
		{503, false, replay.Failed},
		{503, true, replay.Refused},
		{504, true, replay.Failed},
		{528, true, replay.Failed},
		{529, false, replay.Refused},
		{529, true, replay.Refused},
		{599, false, replay.Failed},
	} {
		assert.Equal(t, tc.want, replay.OfStatus(tc.status, tc.told), "%+v", tc)
	}
}

func TestOfError(t *testing.T) {
	certificate := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	for _, tc := range []struct {
		err    error
		unsent bool
		want   replay.Outcome
	}{
		{io.EOF, false, replay.Failed},
		{io.EOF, true, replay.Unsent},
		{context.DeadlineExceeded, true, replay.Unsent},
		{context.DeadlineExceeded, false, replay.Failed},
		{fmt.Errorf("x: %w", context.Canceled), true, replay.Final},
		{context.Canceled, false, replay.Final},
		{fmt.Errorf("x: %w", certificate), true, replay.Final},
		{certificate, false, replay.Final},
		{errors.New("something new"), false, replay.Failed},
		{fmt.Errorf("x: %w", knowing(true)), false, replay.Final},
		{knowing(true), true, replay.Final},
		{knowing(false), false, replay.Failed},
		{knowing(false), true, replay.Unsent},
		{fmt.Errorf("%w: %w", knowing(false), certificate), true, replay.Final},
	} {
		assert.Equal(t, tc.want, replay.OfError(tc.err, tc.unsent), "%+v", tc)
	}
}

// knowing is an error that knows whether it is final.
type knowing bool

func (k knowing) Error() string { return "it knows" }
func (k knowing) Final() bool   { return bool(k) }

func TestAllows(t *testing.T) {
	get, post := &http.Request{Method: http.MethodGet}, &http.Request{Method: http.MethodPost}
	for outcome, want := range map[replay.Outcome]struct{ get, post bool }{
		replay.Final:   {false, false},
		replay.Unsent:  {true, true},
		replay.Refused: {true, true},
		replay.Failed:  {true, false},
		99:             {false, false},
	} {
		assert.Equal(t, want.get, outcome.Allows(get), outcome)
		assert.Equal(t, want.post, outcome.Allows(post), outcome)
	}
}
