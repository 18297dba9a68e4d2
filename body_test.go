package headrace_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// Of whatever ends a call the first counts, and nothing is left in flight.
func TestThePermitIsEndedOnce(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		switch r.URL.Path {
		case "/hangs":
			// The end of TLS arrives before that of TCP: a handler that returned would
			// end the body properly, in time for the client to read it.
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		case "/breaks":
			panic(http.ErrAbortHandler)
		}
	}
	one := make([]byte, 1)
	for name, c := range map[string]struct {
		method, path string
		h            http.HandlerFunc
		use          func(*testing.T, *http.Response, func())
		want         adaptive.Verdict
	}{
		"full read": {path: "/", h: stream, want: adaptive.OK, use: func(t *testing.T, r *http.Response, _ func()) {
			t.Helper()
			_, err := io.Copy(io.Discard, r.Body)
			assert.NoError(t, err)
		}},
		"full read twice, and closed": {path: "/", h: stream, want: adaptive.OK, use: func(_ *testing.T, r *http.Response, cancel func()) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			cancel()
		}},
		"early close": {path: "/hangs", h: stream, want: adaptive.OK, use: func(_ *testing.T, r *http.Response, _ func()) {
			r.Body.Close()
		}},
		"stream error": {path: "/breaks", h: stream, want: adaptive.Transient, use: func(t *testing.T, r *http.Response, _ func()) {
			t.Helper()
			_, err := io.Copy(io.Discard, r.Body)
			assert.Error(t, err)
		}},
		"cancelled mid-body": {path: "/hangs", h: stream, want: adaptive.Unclassified, use: func(t *testing.T, r *http.Response, cancel func()) {
			t.Helper()
			_, err := io.ReadFull(r.Body, one)
			assert.NoError(t, err)
			cancel()
			_, err = io.Copy(io.Discard, r.Body)
			assert.ErrorIs(t, err, context.Canceled)
		}},
		"context ended, body neither read nor closed": {path: "/hangs", h: stream, want: adaptive.Unclassified, use: func(_ *testing.T, _ *http.Response, cancel func()) {
			cancel()
		}},
		"HEAD": {
			method: http.MethodHead, path: "/", want: adaptive.OK,
			h: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000000") },
		},
		"204":     {path: "/", want: adaptive.OK, h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		"no body": {path: "/", want: adaptive.OK, h: func(http.ResponseWriter, *http.Request) {}},
		"short JSON, never read": {path: "/", want: adaptive.OK, h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
		}},
		"bad request": {path: "/", want: adaptive.OK, h: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusBadRequest)
		}},
	} {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", name, h2), func(t *testing.T) {
				s := httptest.NewUnstartedServer(c.h)
				s.EnableHTTP2 = h2
				s.StartTLS()
				defer s.Close()
				l, b := limiter(t)
				client := s.Client()
				client.Transport = under(client.Transport, presets.OpenAITier1, l)
				defer client.CloseIdleConnections()

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, c.method, s.URL+c.path, http.NoBody)
				require.NoError(t, err)
				resp, err := client.Do(req)
				require.NoError(t, err)
				require.Equal(t, h2, resp.ProtoMajor == 2)
				if c.use != nil {
					c.use(t, resp, cancel)
				}
				b.await(1)
				assert.Zero(t, l.Stats().InFlight)
				resp.Body.Close()
				cancel()
				assert.Equal(t, []adaptive.Verdict{c.want}, b.verdicts())
			})
		}
	}
}

// A call settles to what the response says, whichever way it came.
func TestUsage(t *testing.T) {
	const (
		anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n" +
			"event: content_block_delta\ndata: {\"delta\":{\"text\":\"\\\"usage\\\":{\\\"input_tokens\\\":9}\"}}\n\n"
		anthropicEnd = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n"
		openAI       = "data: {\"choices\":[{}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":7,\"total_tokens\":17}}\n\ndata: [DONE]\n\n"
	)
	spaces := make([]byte, 100<<10)
	for i := range spaces {
		spaces[i] = ' '
	}
	for name, c := range map[string]struct {
		p          presets.ID
		kind, text string
		length     bool
		early      int // how many bytes are read before the body is closed; 0: all
		want       throttle.Cost
	}{
		"short JSON": {
			p: presets.OpenAITier1, kind: "application/json", length: true, text: `{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
			want: throttle.Cost{Requests: 1, Tokens: 7, Input: 3, Output: 4},
		},
		"chunked JSON": {
			p: presets.OpenAITier1, kind: "application/json", text: `{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
			want: throttle.Cost{Requests: 1, Tokens: 7, Input: 3, Output: 4},
		},
		"long JSON": {
			p: presets.OpenAITier1, kind: "application/json", length: true, text: `{"data":[` + string(spaces) + `],"usage":{"prompt_tokens":3,"total_tokens":3}}`,
			want: throttle.Cost{Requests: 1, Tokens: 3, Input: 3},
		},
		"stream of OpenAI": {
			p: presets.OpenAITier1, kind: "text/event-stream", text: openAI,
			want: throttle.Cost{Requests: 1, Tokens: 17, Input: 10, Output: 7},
		},
		"stream of OpenAI closed behind DONE": {
			p: presets.OpenAITier1, kind: "text/event-stream; charset=utf-8", text: openAI, early: len(openAI),
			want: throttle.Cost{Requests: 1, Tokens: 17, Input: 10, Output: 7},
		},
		"stream of Anthropic": {
			p: presets.AnthropicTier1, kind: "text/event-stream", text: anthropic + anthropicEnd,
			want: throttle.Cost{Requests: 1, Input: 25, Output: 15},
		},
		"stream of Anthropic closed before its end: as reserved": {
			p: presets.AnthropicTier1, kind: "text/event-stream", text: anthropic + anthropicEnd, early: len(anthropic),
			want: throttle.Cost{Requests: 1, Input: 1, Output: 50},
		},
		"stream of Anthropic without an end: the answer as reserved": {
			p: presets.AnthropicTier1, kind: "text/event-stream", text: anthropic,
			want: throttle.Cost{Requests: 1, Input: 25, Output: 50},
		},
		"another kind says nothing: as reserved": {
			p: presets.OpenAITier1, kind: "audio/mpeg", text: openAI,
			want: throttle.Cost{Requests: 1, Tokens: 50, Input: 1, Output: 50},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := limiter(t)
			url, client := serve(t, l, c.p, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				if c.length {
					w.Header().Set("Content-Length", strconv.Itoa(len(c.text)))
				}
				half := len(c.text) / 2
				_, _ = io.WriteString(w, c.text[:half])
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, c.text[half:])
			})
			resp := post(t, client, url, `{"messages":["hi"],"max_tokens":50}`)
			if c.early > 0 {
				_, err := io.ReadFull(resp.Body, make([]byte, c.early))
				require.NoError(t, err)
				resp.Body.Close()
			} else {
				assert.Equal(t, c.text, read(t, resp), "the caller gets all of it")
			}
			ends := b.ended()
			require.Len(t, ends, 1)
			assert.Equal(t, c.want, ends[0].Used)
		})
	}
}

// An error in the middle of a stream affects all calls with the key.
func TestAnErrorWithinAStreamTeaches(t *testing.T) {
	l, b := limiter(t)
	url, client := serve(t, l, presets.AnthropicTier1, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
	})
	read(t, post(t, client, url, `{}`)) //nolint:bodyclose // read does
	assert.Equal(t, []adaptive.Verdict{adaptive.Overloaded}, b.verdicts())
}

// listened is a context that counts the functions which are to be called at its end.
type listened struct {
	context.Context //nolint:containedctx // it is one

	done chan struct{}
	n    atomic.Int64
}

func (l *listened) Done() <-chan struct{} { return l.done }

// AfterFunc is called by context.AfterFunc.
func (l *listened) AfterFunc(func()) func() bool {
	l.n.Add(1)
	return sync.OnceValue(func() bool { l.n.Add(-1); return true })
}

// A call that has ended leaves no function in its context, which may last as long as the program.
func TestAnEndedCallLeavesNothingInItsContext(t *testing.T) {
	for name, end := range map[string]func(io.ReadCloser){
		"read":   func(b io.ReadCloser) { _, _ = io.ReadAll(b) },
		"closed": func(b io.ReadCloser) { _ = b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := limiter(t)
			rt := under(tripper(func(*http.Request) (*http.Response, error) {
				return answer(http.StatusOK, "Content-Type: text/event-stream", "data: {}\n\n"), nil
			}), "", l)
			ctx := &listened{Context: context.Background(), done: make(chan struct{})}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, secretURL, http.NoBody)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			defer func() { _ = resp.Body.Close() }()
			require.Positive(t, ctx.n.Load())
			end(resp.Body)
			assert.Zero(t, ctx.n.Load())
		})
	}
}
