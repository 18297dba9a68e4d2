package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

type question struct{ Text string }

type reply struct{ Text string }

func (r *reply) RawJSON() string { return fmt.Sprintf(`{"Text":%q}`, r.Text) }

// refusal is how SDKs fail.
type refusal struct {
	StatusCode int
	Response   *http.Response
}

func (*refusal) Error() string   { return "refused" }
func (*refusal) RawJSON() string { return `{"error":"slow down"}` }

func TestFuncEndpoint(t *testing.T) {
	e, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "sdk"}, func(_ context.Context, q question) (*reply, error) {
		return &reply{q.Text + "!"}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, "sdk", e.Name())
	a, err := e.Call(t.Context(), question{"hello"})
	require.NoError(t, err)
	assert.Equal(t, "sdk", a.Endpoint)
	assert.Equal(t, &reply{"hello!"}, a.Value)
	assert.Equal(t, `{"Text":"hello!"}`, string(a.Body))
	assert.Equal(t, 1, a.Attempts)
	assert.Zero(t, a.StatusCode)
	var same *reply
	require.NoError(t, a.Decode(&same))
	assert.Equal(t, "hello!", same.Text)
	var other struct{ Text string }
	require.NoError(t, a.Decode(&other))
	assert.Equal(t, "hello!", other.Text)

	for range 2 {
		require.NoError(t, e.Close())
		a, err = e.Call(t.Context(), question{})
		assert.ErrorIs(t, err, httpclient.ErrClosed)
		assert.NotNil(t, a)
		assert.Zero(t, a.Attempts)
	}
}

func TestFuncEndpointErrors(t *testing.T) {
	bad := errors.New("bad")
	refused := &refusal{http.StatusTooManyRequests, &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}}}
	for _, tc := range []struct {
		name    string
		payload any
		f       func(context.Context, question) (any, error)
		text    string
		is      error
		called  int
	}{
		{name: "its own", payload: question{}, f: func(context.Context, question) (any, error) { return (*reply)(nil), bad }, is: bad, text: "bad", called: 1},
		{name: "an SDK's", payload: question{}, f: func(context.Context, question) (any, error) {
			return (*reply)(nil), fmt.Errorf("chat: %w", refused)
		}, is: refused, text: "chat: refused", called: 1},
		{name: "a panic", payload: question{}, f: func(context.Context, question) (any, error) { panic(bad) }, is: bad, text: "panic: bad", called: 1},
		{name: "another type", payload: "text", text: "the payload is a string; want a endpoint_test.question"},
		{name: "no payload", text: "the payload is a <nil>; want a endpoint_test.question"},
		{name: "not valid", payload: question{"no"}, text: "is not valid: bad", is: bad},
	} {
		e, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "sdk", CheckPayload: func(p any) error {
			if p == (question{"no"}) {
				return bad
			}
			return nil
		}}, tc.f)
		if tc.f == nil {
			e, err = endpoint.NewFunc(endpoint.FuncConfig{Name: "sdk", CheckPayload: func(p any) error {
				if p == (question{"no"}) {
					return bad
				}
				return nil
			}}, func(context.Context, question) (any, error) { t.Error("it was called"); return nil, nil })
		}
		require.NoError(t, err)
		a, err := e.Call(t.Context(), tc.payload)
		failed, ok := errors.AsType[*endpoint.FuncError](err)
		require.True(t, ok, tc.name)
		assert.Equal(t, "sdk", failed.Endpoint)
		assert.Equal(t, a.Elapsed, failed.Elapsed)
		assert.ErrorContains(t, err, "endpoint: sdk: after ", tc.name)
		assert.ErrorContains(t, err, tc.text, tc.name)
		if tc.is != nil {
			assert.ErrorIs(t, err, tc.is, tc.name)
		}
		if tc.name == "an SDK's" {
			assert.Equal(t, 429, a.StatusCode)
			assert.Equal(t, "3", a.Header.Get("Retry-After"))
			assert.JSONEq(t, `{"error":"slow down"}`, string(a.Body))
		}
		if panicked, ok := errors.AsType[*fault.PanicError](err); ok {
			assert.Equal(t, "a panic", tc.name)
			assert.Contains(t, string(panicked.Stack), "TestFuncEndpointErrors")
		}
	}
}

func TestFuncEndpointTakesNothing(t *testing.T) {
	e, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "sdk"}, func(_ context.Context, p any) (any, error) { return p, nil })
	require.NoError(t, err)
	a, err := e.Call(t.Context(), nil)
	require.NoError(t, err)
	assert.Nil(t, a.Value)
	assert.ErrorContains(t, a.Decode(&question{}), "there is no body")
}

func TestFuncEndpointTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "sdk", Timeout: time.Minute}, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		require.NoError(t, err)
		a, err := e.Call(t.Context(), "")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "endpoint: sdk: after 1m0s: FuncConfig.Timeout, 1m0s, is over: context deadline exceeded")
		assert.Equal(t, time.Minute, a.Elapsed)

		why := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		a, err = e.Call(ctx, "")
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, why)
		assert.Equal(t, time.Second, a.Elapsed)
	})
}

func TestFuncConfigProblems(t *testing.T) {
	_, err := endpoint.NewFunc[string, string](endpoint.FuncConfig{Timeout: -1}, nil)
	assert.EqualError(t, err, `endpoint: Name: is missing; want such as "openai chat"
endpoint: Timeout: -1ns; want a positive duration, or 0 for none
endpoint: f: nil; want a function`)
}
