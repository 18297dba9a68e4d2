package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func endpoint(t *testing.T, h http.HandlerFunc) *httpclient.Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	e, err := httpclient.NewEndpoint(httpclient.EndpointConfig{
		Name: "chat", Provider: "openai", BaseURL: s.URL, Path: "/v1/chat", Secret: httpclient.NewSecret("sk-canary"),
	})
	require.NoError(t, err)
	return e
}

func TestModel(t *testing.T) {
	var calls atomic.Int64
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After-Ms", "10")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error":{"code":"rate_limit_exceeded","message":"slow"}}`))
			return
		}
		w.Header().Set("Set-Cookie", "canary")
		w.Header().Set("X-Request-Id", "r1")
		_, _ = w.Write([]byte(strings.Repeat("x", 5000)))
	})
	p := within(throttle.Sliding(1000, time.Minute).Of(throttle.Tokens))
	p.Dialect = dialect.OpenAI
	x := open(t, executor.Config{Policy: p})
	m, err := executor.NewModel(executor.ModelConfig{Executor: x, Endpoint: e})
	require.NoError(t, err)
	task, err := m.Complete(t.Context(), map[string]string{"say": "hi"}, throttle.Cost{Tokens: 300},
		executor.WithMetadata(map[string]string{"user": "7"}))
	require.NoError(t, err)
	a, err := task.Wait(t.Context())
	require.NoError(t, err)
	assert.Len(t, a.Body, 5000)

	i := task.Info()
	assert.Equal(t, executor.Completed, i.State)
	assert.Equal(t, 2, i.Attempts)
	assert.Equal(t, a.ID, i.CorrelationID)
	assert.NotEmpty(t, i.CorrelationID)
	assert.Equal(t, "POST", i.Request.Method)
	assert.Contains(t, i.Request.Endpoint, "chat http://127.0.0.1")
	assert.JSONEq(t, `{"say":"hi"}`, i.Request.Payload)
	assert.Equal(t, http.StatusOK, i.Response.Status)
	assert.Equal(t, 5000, i.Response.Bytes)
	assert.Len(t, i.Response.Body, 4<<10)
	assert.Equal(t, "r1", i.Response.Header.Get("X-Request-Id"))
	text, err := json.Marshal(i)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "canary")
	assert.Contains(t, string(text), "refused for rate")

	require.NoError(t, m.Close())
	_, err = m.Complete(t.Context(), nil, throttle.Cost{})
	require.ErrorIs(t, err, executor.ErrStopped)
	_, err = executor.Submit(t.Context(), x, func(context.Context) (int, error) { return 1, nil })
	require.NoError(t, err, "the executor is somebody else's")
}

func TestAnErrorOfAModel(t *testing.T) {
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"no such thing"}`))
	})
	m, err := executor.NewModel(executor.ModelConfig{
		Executor: open(t, executor.Config{}), Endpoint: e,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	task, err := m.Complete(t.Context(), "hi", throttle.Cost{})
	require.NoError(t, err)
	_, err = task.Wait(t.Context())
	require.ErrorIs(t, err, httpclient.CodeStatus)
	i := task.Info()
	assert.Equal(t, executor.Failed, i.State)
	assert.Equal(t, http.StatusBadRequest, i.Response.Status)
	assert.JSONEq(t, `{"error":"no such thing"}`, i.Response.Body)
	assert.Equal(t, "*httpclient.Error", i.Error.Types[0])
	failed, ok := errors.AsType[*httpclient.Error](err)
	require.True(t, ok)
	assert.Equal(t, failed.ID, i.CorrelationID)
}

func TestModelsThatCannotBe(t *testing.T) {
	_, err := executor.NewModel(executor.ModelConfig{})
	require.ErrorContains(t, err, "Executor")
	require.ErrorContains(t, err, "Endpoint")
}

// Several models share one executor, here a function in place of HTTP.
func TestModelsOfFunctions(t *testing.T) {
	boom := errors.New("boom")
	f, err := httpclient.NewFuncEndpoint(httpclient.FuncConfig{Name: "echo"}, func(_ context.Context, in string) (string, error) {
		if in == "" {
			return "", boom
		}
		return in, nil
	})
	require.NoError(t, err)
	x := open(t, executor.Config{})
	for _, in := range []string{"a", ""} {
		m, err := executor.NewModel(executor.ModelConfig{Executor: x, Endpoint: f})
		require.NoError(t, err)
		task, err := m.Complete(t.Context(), in, throttle.Cost{})
		require.NoError(t, err)
		a, err := task.Wait(t.Context())
		if in == "" {
			require.ErrorIs(t, err, boom)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, in, a.Value)
	}
}

// A task that is kept has of what was sent and answered what it shows, and no more.
func TestAModelKeepsTheBeginning(t *testing.T) {
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answered")) })
	m, err := executor.NewModel(executor.ModelConfig{Executor: open(t, executor.Config{Keep: 4}), Endpoint: e})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	task, err := m.Complete(t.Context(), "payload", throttle.Cost{})
	require.NoError(t, err)
	_, err = task.Wait(t.Context())
	require.NoError(t, err)
	i := task.Info()
	assert.Equal(t, "payl", i.Request.Payload)
	assert.Equal(t, 7, i.Request.Bytes)
	assert.Equal(t, "answ", i.Response.Body)
	assert.Equal(t, 8, i.Response.Bytes)
}
