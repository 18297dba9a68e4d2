package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
)

// modelTracer records model calls.
type modelTracer struct {
	event.Func

	mu     sync.Mutex // guards everything below
	begun  []event.Event
	ended  []event.Event
	noted  []event.Kind
	wanted bool
}

type modelKey struct{}

func (m *modelTracer) Traces(kind event.Kind) bool { return m.wanted && kind == event.ModelStarted }

func (m *modelTracer) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = append(m.begun, begin)
	return context.WithValue(ctx, modelKey{}, true), func(e event.Event) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ended = append(m.ended, e)
	}
}

func (m *modelTracer) Note(ctx context.Context, e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Value(modelKey{}) != nil {
		m.noted = append(m.noted, e.Kind)
	}
}

const usageAnswer = `{"id":"a","model":"gpt-4o-2024","usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`

// One begin and one end for a request that names a model, however often it is sent.
func TestModelCallsAreTraced(t *testing.T) {
	var sent int
	base := tripper(func(req *http.Request) (*http.Response, error) {
		assert.NotNil(t, req.Context().Value(modelKey{}), "the base works under the span")
		if sent++; sent == 1 {
			return answer(http.StatusTooManyRequests, "Retry-After-Ms: 1", `{"error":{"type":"requests"}}`), nil
		}
		return answer(http.StatusOK, "", usageAnswer), nil
	})
	m := &modelTracer{wanted: true}
	l, _ := limiter(t)
	client := &http.Client{Transport: under(base, presets.OpenAITier1, l, guard.Policy{Observer: m})}
	resp := post(t, client, "https://user:"+secret+"@api.openai.com/v1/chat/completions?key="+secret, `{"model":"gpt-4o","messages":["`+secret+`"]}`) //nolint:bodyclose // read does
	read(t, resp)

	require.Len(t, m.begun, 1)
	require.Len(t, m.ended, 1)
	assert.Equal(t, event.ModelStarted, m.begun[0].Kind)
	asked := event.Model{Provider: "openai", URL: "https://api.openai.com/v1/chat/completions", Asked: "gpt-4o"}
	assert.Equal(t, asked, *m.begun[0].Model)
	asked.Answered, asked.Status, asked.Input, asked.Output = "gpt-4o-2024", 200, 7, 3
	end := m.ended[0]
	assert.Equal(t, asked, *end.Model)
	assert.Equal(t, event.ModelFinished, end.Kind)
	assert.Equal(t, 2, end.Attempt)
	assert.Equal(t, event.NoIndex, end.Index)
	assert.NoError(t, end.Err)
	assert.Contains(t, m.noted, event.LimiterHit)
}

const secret = "sk-secret"

// What no tracer wants to know of, and what is no model call.
func TestWhatIsNoModelCall(t *testing.T) {
	for name, c := range map[string]struct {
		method, body string
		wanted       bool
		want         int
	}{
		"a model call":       {http.MethodPost, `{"model":"m"}`, true, 1},
		"nobody wants to":    {http.MethodPost, `{"model":"m"}`, false, 0},
		"no model":           {http.MethodPost, `{"text":"m"}`, true, 0},
		"a look at the list": {http.MethodGet, `{"model":"m"}`, true, 0},
	} {
		m := &modelTracer{wanted: c.wanted}
		l, _ := limiter(t)
		rt := under(tripper(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusOK, "", `{}`), nil
		}), "", l, guard.Policy{Observer: m})
		req, err := http.NewRequestWithContext(event.With(t.Context(), m), c.method, "https://h/", strings.NewReader(c.body))
		require.NoError(t, err)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		read(t, resp)
		assert.Len(t, m.begun, c.want, name)
		assert.Len(t, m.ended, c.want, name)
	}
}

// A stream is over when its body is: read, closed, or with its context.
func TestTheEndOfAStreamIsTheEndOfTheCall(t *testing.T) {
	const begun = "data: {\"model\":\"m-1\",\"usage\":null}\n\n"
	const ended = "data: {\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		end  func(t *testing.T, resp *http.Response, cancel func())
		want event.Model
		err  error
	}{
		"read": {func(t *testing.T, resp *http.Response, _ func()) { t.Helper(); read(t, resp) }, event.Model{Answered: "m-1", Input: 7, Output: 3}, nil},
		"closed": {func(_ *testing.T, resp *http.Response, _ func()) {
			_, _ = io.ReadFull(resp.Body, make([]byte, len(begun)))
			resp.Body.Close()
		}, event.Model{Answered: "m-1"}, nil},
		"cancelled": {func(_ *testing.T, _ *http.Response, cancel func()) { cancel() }, event.Model{}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			m := &modelTracer{wanted: true}
			told := make(chan struct{})
			l, _ := limiter(t)
			rt := under(tripper(func(*http.Request) (*http.Response, error) {
				return answer(http.StatusOK, "Content-Type: text/event-stream", begun+ended), nil
			}), presets.OpenAITier1, l, guard.Policy{Observer: &closing{modelTracer: m, told: told}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			assert.Empty(t, m.ended)
			c.end(t, resp, cancel)
			<-told
			resp.Body.Close()
			require.Len(t, m.ended, 1)
			got := *m.ended[0].Model
			assert.Equal(t, c.want, event.Model{Answered: got.Answered, Input: got.Input, Output: got.Output})
			assert.ErrorIs(t, m.ended[0].Err, c.err)
		})
	}
}

// closing says when the end was reported.
type closing struct {
	*modelTracer
	told chan struct{}
}

func (c *closing) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	ctx, end := c.modelTracer.Trace(ctx, begin)
	return ctx, func(e event.Event) {
		end(e)
		close(c.told)
	}
}

// A base that panics, and one that fails, end the call too.
func TestModelCallsThatFail(t *testing.T) {
	for name, base := range map[string]tripper{
		"fails":  func(*http.Request) (*http.Response, error) { return nil, errors.New("broken") },
		"panics": func(*http.Request) (*http.Response, error) { panic("base") },
	} {
		m := &modelTracer{wanted: true}
		l, _ := limiter(t)
		rt := under(base, "", l, guard.Policy{Observer: m})
		func() {
			defer func() { _ = recover() }()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", strings.NewReader(`{"model":"m"}`))
			require.NoError(t, err)
			_, _ = rt.RoundTrip(req) //nolint:bodyclose // there is none
		}()
		require.Len(t, m.ended, 1, name)
		assert.Error(t, m.ended[0].Err, name)
		assert.Zero(t, m.ended[0].Model.Status, name)
	}
}
