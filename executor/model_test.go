package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func newEndpoint(t *testing.T, h http.HandlerFunc) *endpoint.Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	e, err := endpoint.New(endpoint.Config{
		Name: "chat", Provider: "openai", BaseURL: s.URL, Path: "/v1/chat", Secret: httpclient.NewSecret("sk-canary"),
	})
	require.NoError(t, err)
	return e
}

func TestModel(t *testing.T) {
	var calls atomic.Int64
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
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
	m, err := executor.NewModel(x, e)
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
	assert.Contains(t, string(text), "rejected for rate")

	require.NoError(t, m.Close())
	_, err = m.Complete(t.Context(), nil, throttle.Cost{})
	require.ErrorIs(t, err, executor.ErrStopped)
	_, err = executor.Submit(t.Context(), x, func(context.Context) (int, error) { return 1, nil })
	require.NoError(t, err, "the executor belongs to the caller")
}

func TestAnErrorOfAModel(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"no such thing"}`))
	})
	m, err := executor.NewModel(open(t, executor.Config{}), e)
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

// A GET reads what another call has made, with the usage of that.
func TestAModelThatReadsIsNotChargedTheUsageOfWhatItReads(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"batch_1","usage":{"total_tokens":700}}`))
	}))
	t.Cleanup(s.Close)
	for method, spent := range map[string]int64{http.MethodGet: 0, http.MethodPost: 700} {
		e, err := endpoint.New(endpoint.Config{Provider: "openai", BaseURL: s.URL, Method: method})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		g, err := guard.New(within(throttle.Sliding(1000, time.Hour).Of(throttle.Tokens)))
		require.NoError(t, err)
		m, err := executor.NewModel(open(t, executor.Config{Policy: guard.Policy{Within: []*guard.Guard{g}}}), e)
		require.NoError(t, err)
		task, err := m.Complete(t.Context(), nil, throttle.Cost{})
		require.NoError(t, err)
		_, err = task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, spent, g.Stats().Windows[0].Spent, method)
	}
}

func TestModelsThatCannotBe(t *testing.T) {
	_, err := executor.NewModel(nil, nil)
	require.ErrorContains(t, err, "Executor")
	require.ErrorContains(t, err, "Endpoint")
}

// Several models share one executor, here a function in place of HTTP.
func TestModelsOfFunctions(t *testing.T) {
	boom := errors.New("boom")
	f, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "echo"}, func(_ context.Context, in string) (string, error) {
		if in == "" {
			return "", boom
		}
		return in, nil
	})
	require.NoError(t, err)
	x := open(t, executor.Config{})
	for _, in := range []string{"a", ""} {
		m, err := executor.NewModel(x, f)
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

// A retained task keeps only the parts of the request and the response that it shows.
func TestAModelKeepsTheBeginning(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answered")) })
	m, err := executor.NewModel(open(t, executor.Config{Keep: 4}), e)
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

// A page of HTML with status 200 is a failed attempt: the retry policy and the task see it.
func TestAModelRetriesWhatIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		pages    int64
		attempts int
		state    executor.State
	}{
		"one page":   {1, 2, executor.Completed},
		"only pages": {9, 3, executor.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) <= c.pages {
					_, _ = w.Write([]byte("<html>login</html>"))
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"usage":{"total_tokens":5}}`))
			})
			x := open(t, executor.Config{Policy: guard.Policy{Retry: &retry.Policy{Initial: 1}}})
			m, err := executor.NewModel(x, e)
			require.NoError(t, err)
			task, err := m.Complete(t.Context(), map[string]string{"say": "hi"}, throttle.Cost{})
			require.NoError(t, err)
			_, err = task.Wait(t.Context())
			assert.Equal(t, c.state == executor.Failed, errors.Is(err, httpclient.CodeAnswer), "%v", err)
			i := task.Info()
			assert.Equal(t, c.state, i.State)
			assert.Equal(t, c.attempts, i.Attempts)
			assert.Equal(t, http.StatusOK, i.Response.Status)
		})
	}
}

// A service that repeats the key does not get it into Info, whatever its status.
func TestInfoOfAModelHidesTheKey(t *testing.T) {
	const key = "sk-canary/of+a key" // with different spellings
	for name, c := range map[string]struct {
		status int
		say    func(auth string) (kind, body string)
		bad    bool
	}{
		"200":              {200, func(auth string) (string, string) { return "text/plain", "you sent " + auth }, false},
		"200, as JSON":     {200, func(auth string) (string, string) { b, _ := json.Marshal(auth); return "application/json", string(b) }, false},
		"200, in a path":   {200, func(auth string) (string, string) { return "text/plain", url.PathEscape(auth) }, false},
		"200, and no JSON": {200, func(auth string) (string, string) { return "text/html", "<html>" + auth }, true},
		"400":              {400, func(auth string) (string, string) { return "text/plain", auth }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				kind, body := c.say(r.Header.Get("Authorization"))
				w.Header().Set("Content-Type", kind)
				w.Header().Set("X-Echo", r.Header.Get("Authorization"))
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(body))
			}))
			defer s.Close()
			e, err := endpoint.New(endpoint.Config{BaseURL: s.URL, Secret: httpclient.NewSecret(key)})
			require.NoError(t, err)
			defer func() { assert.NoError(t, e.Close()) }()
			m, err := executor.NewModel(open(t, executor.Config{}), e)
			require.NoError(t, err)
			task, err := m.Complete(t.Context(), map[string]string{"say": "hi"}, throttle.Cost{})
			require.NoError(t, err)
			a, err := task.Wait(t.Context())
			assert.Equal(t, c.bad, err != nil)
			if !c.bad {
				assert.Contains(t, string(a.Body), "canary", "the answer is the caller's")
			}
			i := task.Info()
			assert.Contains(t, i.Response.Body, "REDACTED")
			text, err := json.Marshal(i)
			require.NoError(t, err)
			assert.NotContains(t, string(text), "canary")
			assert.Equal(t, c.status, i.Response.Status)
		})
	}
}

// An error with status 200 is a failed attempt, unless the dialect knows it as a
// rate limit: that is waited out.
func TestAnErrorWithStatus200(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		attempts int
		state    executor.State
	}{
		"unknown":         {`{"error":{"message":"the model has crashed","type":"model_error"}}`, 2, executor.Failed},
		"of a rate limit": {`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, 3, executor.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After-Ms", "1")
				if calls.Add(1) <= 2 {
					_, _ = w.Write([]byte(c.body))
					return
				}
				_, _ = w.Write([]byte(`{"choices":[]}`))
			})
			x := open(t, executor.Config{Policy: guard.Policy{Retry: &retry.Policy{MaxAttempts: 2, Initial: 1}}})
			m, err := executor.NewModel(x, e)
			require.NoError(t, err)
			task, err := m.Complete(t.Context(), map[string]string{"say": "hi"}, throttle.Cost{})
			require.NoError(t, err)
			_, err = task.Wait(t.Context())
			assert.Equal(t, c.state == executor.Failed, errors.Is(err, httpclient.CodeAnswer), "%v", err)
			assert.Equal(t, c.state, task.Info().State)
			assert.Equal(t, c.attempts, task.Info().Attempts)
		})
	}
}
