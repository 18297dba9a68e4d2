package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

const (
	hello  = `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	hel    = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hel"}}]}` + "\n\n"
	lo     = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"lo"}}]}` + "\n\n"
	usage  = `data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}` + "\n\n"
	done   = "data: [DONE]\n\n"
	broken = `data: {"error":{"message":"The server had an error.","type":"server_error","param":null,"code":"server_error"}}` + "\n\n"
)

// outcome is what a caller of the SDK gets.
type outcome struct {
	Text   string // the decoded answer or, of a stream, what each event says, with bars between
	Tokens int64
	Err    string // see kind
	Status int    // of an *openai.Error
	Code   string // likewise
	Calls  int    // that the provider saw
}

// TestConformance has each answer of a provider read by the SDK with a bare
// http.Client and with a Transport. What is expected was written by hand.
func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter, r *http.Request) // to the nth request
		stream bool
		limit  time.Duration // of the caller's patience; below 0: it has none from the beginning
		bare   outcome
		ours   *outcome // nil: the same
	}{
		{name: "200", answer: always(200, hello), bare: outcome{Text: "hello", Tokens: 4, Calls: 1}},
		{name: "400", answer: refuse(400, "bad_value"), bare: outcome{Err: "api", Status: 400, Code: "bad_value", Calls: 1}},
		{name: "401", answer: refuse(401, "invalid_api_key"), bare: outcome{Err: "api", Status: 401, Code: "invalid_api_key", Calls: 1}},
		{name: "404", answer: refuse(404, "model_not_found"), bare: outcome{Err: "api", Status: 404, Code: "model_not_found", Calls: 1}},
		{name: "408", answer: refuse(408, "timeout"), bare: outcome{Err: "api", Status: 408, Code: "timeout", Calls: 1}},
		{name: "409", answer: refuse(409, "conflict"), bare: outcome{Err: "api", Status: 409, Code: "conflict", Calls: 1}},
		{name: "413", answer: refuse(413, "too_large"), bare: outcome{Err: "api", Status: 413, Code: "too_large", Calls: 1}},
		{name: "422", answer: refuse(422, "unprocessable"), bare: outcome{Err: "api", Status: 422, Code: "unprocessable", Calls: 1}},
		{name: "500", answer: refuse(500, "server_error"), bare: outcome{Err: "api", Status: 500, Code: "server_error", Calls: 1}},
		{
			name: "429 with Retry-After", answer: once(refuse(429, "rate_limit_exceeded", "Retry-After", "2"), always(200, hello)),
			bare: outcome{Err: "api", Status: 429, Code: "rate_limit_exceeded", Calls: 1},
			ours: &outcome{Text: "hello", Tokens: 4, Calls: 2},
		},
		{
			name: "429 without it, of a stream", stream: true, answer: once(refuse(429, "rate_limit_exceeded"), events(hel, lo, done)),
			bare: outcome{Err: "api", Status: 429, Code: "rate_limit_exceeded", Calls: 1},
			ours: &outcome{Text: "hel|lo", Calls: 2},
		},
		{
			name: "429 for longer than anybody waits", answer: refuse(429, "rate_limit_exceeded", "Retry-After", "86400"),
			bare: outcome{Err: "api", Status: 429, Code: "rate_limit_exceeded", Calls: 1},
		},
		{
			name: "429 quota exhausted", answer: refuse(429, "insufficient_quota"),
			bare: outcome{Err: "api", Status: 429, Code: "insufficient_quota", Calls: 1},
		},
		{
			name: "503 with Retry-After", answer: once(refuse(503, "server_is_overloaded", "Retry-After", "1"), always(200, hello)),
			bare: outcome{Err: "api", Status: 503, Code: "server_is_overloaded", Calls: 1},
			ours: &outcome{Text: "hello", Tokens: 4, Calls: 2},
		},
		{
			name: "529", answer: once(refuse(529, "overloaded"), always(200, hello)),
			bare: outcome{Err: "api", Status: 529, Code: "overloaded", Calls: 1},
			ours: &outcome{Text: "hello", Tokens: 4, Calls: 2},
		},
		{name: "an error that is no JSON", answer: always(500, "<html>oops</html>"), bare: outcome{Err: "api", Status: 500, Calls: 1}},
		{name: "cut before the header", answer: cut(""), bare: outcome{Err: "EOF", Calls: 1}},
		{name: "cut in the body", answer: cut(hello[:40]), bare: outcome{Err: "unexpected EOF", Calls: 1}},
		{name: "malformed JSON", answer: always(200, hello[:40]), bare: outcome{Err: "json", Calls: 1}},
		{name: "a stream", stream: true, answer: events(hel, lo, usage, done), bare: outcome{Text: "hel|lo|", Tokens: 4, Calls: 1}},
		{name: "an error in a stream", stream: true, answer: events(hel, broken), bare: outcome{Text: "hel", Err: "stream", Calls: 1}},
		{name: "a stream that is cut", stream: true, answer: cut(hel + lo[:20]), bare: outcome{Text: "hel", Err: "unexpected EOF", Calls: 1}},
		{name: "a slow header", answer: hang, limit: time.Minute, bare: outcome{Err: "deadline", Calls: 1}},
		{name: "a slow stream", stream: true, answer: trickle, limit: time.Minute, bare: outcome{Text: "hel", Err: "deadline", Calls: 1}},
		{name: "cancelled", answer: always(200, hello), limit: -1, bare: outcome{Err: "cancelled"}},
		{name: "a redirect", answer: once(redirect("/elsewhere"), always(200, hello)), bare: outcome{Text: "hello", Tokens: 4, Calls: 2}},
		{name: "a redirect to another host", answer: redirect("http://elsewhere.test/v1"), bare: outcome{Err: "origin", Calls: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.ours == nil {
				tc.ours = &tc.bare
			}
			bare, bareErr := caller(t, tc.answer, tc.stream, tc.limit, func(base http.RoundTripper) http.RoundTripper { return base })
			ours, oursErr := caller(t, tc.answer, tc.stream, tc.limit, under)
			require.Equal(t, tc.bare, bare, "without Transport: %v", bareErr)
			require.Equal(t, *tc.ours, ours, "with Transport: %v", oursErr)
			if tc.ours == &tc.bare && bareErr != nil {
				require.Equal(t, bareErr.Error(), oursErr.Error())
				require.IsType(t, bareErr, oursErr)
			}
		})
	}
}

// under is a Transport with limiters of its own.
func under(base http.RoundTripper) http.RoundTripper {
	limiters, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	return headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(limiters))
}

// caller asks once, in a bubble.
func caller(t *testing.T, answer func(int, http.ResponseWriter, *http.Request), stream bool, limit time.Duration,
	over func(http.RoundTripper) http.RoundTripper,
) (o outcome, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		base := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			n := int(calls.Add(1))
			w.Header().Set("X-Case", "conformance")
			answer(n, w, r)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		switch {
		case limit < 0:
			cancel()
		case limit > 0:
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		o, err = ask(ctx, newClient(over(base), local("http://provider.test")...), stream)
		o.Calls = int(calls.Load())
		if api, ok := errors.AsType[*openai.Error](err); ok { // what callers look at
			require.Equal(t, "conformance", api.Response.Header.Get("X-Case"))
			body, err := io.ReadAll(api.Response.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), api.RawJSON())
			require.NotNil(t, api.Request)
		}
	})
	return o, err
}

func ask(ctx context.Context, client openai.Client, stream bool) (o outcome, err error) {
	p := &program{settings: settings{model: "gpt-4o-mini"}}
	if !stream {
		answer, err := client.Chat.Completions.New(ctx, p.chat("hello?"))
		o.judge(err)
		if err == nil {
			o.Text, o.Tokens = answer.Choices[0].Message.Content, answer.Usage.TotalTokens
		}
		return o, err
	}
	s := client.Chat.Completions.NewStreaming(ctx, p.chat("hello?"))
	defer func() { _ = s.Close() }()
	var said []string
	for s.Next() {
		var word strings.Builder
		for _, c := range s.Current().Choices {
			word.WriteString(c.Delta.Content)
		}
		said = append(said, word.String())
		o.Tokens += s.Current().Usage.TotalTokens
	}
	o.Text = strings.Join(said, "|")
	o.judge(s.Err())
	return o, s.Err()
}

// judge names the kind of an error as a caller would find it out.
func (o *outcome) judge(err error) {
	var (
		api    *openai.Error
		stream *ssestream.StreamError
		syntax *json.SyntaxError
	)
	switch {
	case err == nil:
	case errors.As(err, &api):
		o.Err, o.Status, o.Code = "api", api.StatusCode, api.Code
	case errors.As(err, &stream):
		o.Err = "stream"
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(err.Error(), "json"):
		o.Err = "json"
	case errors.Is(err, context.DeadlineExceeded):
		o.Err = "deadline"
	case errors.Is(err, context.Canceled):
		o.Err = "cancelled"
	case errors.Is(err, syscall.ECONNRESET):
		o.Err = "reset"
	case errors.Is(err, io.ErrUnexpectedEOF):
		o.Err = "unexpected EOF"
	case errors.Is(err, io.EOF):
		o.Err = "EOF"
	case strings.Contains(err.Error(), "origin must match"):
		o.Err = "origin"
	default:
		o.Err = err.Error()
	}
}

type answering = func(int, http.ResponseWriter, *http.Request)

func always(status int, body string) answering {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func refuse(status int, code string, header ...string) answering {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		always(status, `{"error":{"message":"No.","type":"some_error","param":null,"code":"`+code+`"}}`)(n, w, r)
	}
}

// once answers the first request and then otherwise.
func once(first, then answering) answering {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			first(n, w, r)
			return
		}
		then(n, w, r)
	}
}

func events(all ...string) answering {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range all {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// cut ends the connection after some of the body; without any, before the header.
func cut(body string) answering {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		if body != "" {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func hang(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func trickle(n int, w http.ResponseWriter, r *http.Request) {
	events(hel)(n, w, r)
	<-r.Context().Done()
}

func redirect(to string) answering {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}

// A reset needs a true socket.
func TestConformanceOfAReset(t *testing.T) {
	for _, over := range []func(http.RoundTripper) http.RoundTripper{
		func(base http.RoundTripper) http.RoundTripper { return base }, under,
	} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			calls.Add(1)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}
		}))
		base := &http.Transport{}
		o, err := ask(t.Context(), newClient(over(base), local(server.URL)...), false)
		base.CloseIdleConnections()
		server.Close()
		o.Calls = int(calls.Load())
		require.Equal(t, outcome{Err: "reset", Calls: 1}, o, err)
	}
}
