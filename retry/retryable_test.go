package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/retry"
)

// codeError is an error that errors.As looks for.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("code %d", e.code) }

// hostileError panics when it is compared.
type hostileError struct{}

func (hostileError) Error() string             { return "hostile" }
func (hostileError) Is(error) bool             { panic("Is") }
func (hostileError) As(any) bool               { panic("As") }
func wrap(err error) error                     { return fmt.Errorf("call 7: %w", err) }
func always(error) bool                        { return true }
func join(errs ...error) error                 { return errors.Join(errs...) }
func permanentPointer() error                  { return &backoff.PermanentError{Err: io.EOF} }
func panicking(error) bool                     { panic("user code") }
func only(target error) []error                { return []error{target} }
func isEOF(err error) bool                     { return errors.Is(err, io.EOF) }
func notEOF(err error) bool                    { return !isEOF(err) }
func policyOf(f func(error) bool) retry.Policy { return retry.Policy{Retryable: f} }

func TestPermanentIsSeenThrough(t *testing.T) {
	assert.NoError(t, retry.Permanent(nil))
	err := wrap(retry.Permanent(wrap(&codeError{400})))
	var code *codeError
	require.ErrorAs(t, err, &code)
	assert.Equal(t, 400, code.code)
	assert.ErrorIs(t, retry.Permanent(io.EOF), io.EOF)
	assert.EqualError(t, retry.Permanent(io.EOF), "EOF")
}

func TestDefaultRetryable(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"plain", io.EOF, true},
		{"permanent", retry.Permanent(io.EOF), false},
		{"permanent, wrapped", wrap(retry.Permanent(io.EOF)), false},
		{"permanent, joined", join(io.EOF, retry.Permanent(io.ErrClosedPipe)), false},
		{"permanent of backoff", backoff.Permanent(io.EOF), false},
		{"permanent of backoff by hand", wrap(permanentPointer()), false},
		{"cancelled", context.Canceled, false},
		{"cancelled, wrapped", wrap(context.Canceled), false},
		{"the attempt's own timeout", wrap(context.DeadlineExceeded), true},
	} {
		assert.Equal(t, tc.want, retry.DefaultRetryable(tc.err), tc.name)
		assert.Equal(t, tc.want, retry.Policy{}.Retries(tc.err), "the zero policy: "+tc.name)
	}
}

func TestRetries(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy retry.Policy
		err    error
		want   bool
	}{
		{"Retryable says yes", policyOf(isEOF), wrap(io.EOF), true},
		{"Retryable says no", policyOf(notEOF), wrap(io.EOF), false},
		{"Retryable replaces the default", policyOf(always), context.Canceled, true},
		{"Retryable is not asked about nil", policyOf(always), nil, false},
		{"Retryable is not asked about a permanent error", policyOf(always), wrap(retry.Permanent(io.EOF)), false},
		{"Retryable panics", policyOf(panicking), io.EOF, false},
		{"excepted", retry.Policy{Except: only(io.EOF)}, io.EOF, false},
		{"excepted, wrapped", retry.Policy{Except: only(io.EOF)}, wrap(io.EOF), false},
		{"excepted as second", retry.Policy{Except: []error{io.ErrNoProgress, io.EOF}}, io.EOF, false},
		{"excepted before Retryable", retry.Policy{Except: only(io.EOF), Retryable: always}, io.EOF, false},
		{"another is excepted", retry.Policy{Except: only(io.EOF)}, io.ErrClosedPipe, true},
		{"comparing panics", retry.Policy{Except: only(io.EOF)}, hostileError{}, false},
	} {
		assert.NotPanics(t, func() { assert.Equal(t, tc.want, tc.policy.Retries(tc.err), tc.name) }, tc.name)
	}
}
