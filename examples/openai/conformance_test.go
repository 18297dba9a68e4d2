package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/examples/internal/sdktest"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

const (
	hello  = `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	hel    = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hel"}}]}` + "\n\n"
	lo     = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"lo"}}]}` + "\n\n"
	usage  = `data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}` + "\n\n"
	done   = "data: [DONE]\n\n"
	broken = `data: {"error":{"message":"The server had an error.","type":"server_error","param":null,"code":"server_error"}}` + "\n\n"
)

// What a caller of the SDK gets is the same with a Transport, but for refusals.
// Here is what only OpenAI answers so; the rest of the table is in sdktest.
func TestConformance(t *testing.T) {
	s := suite()
	s.Conformance(t, []sdktest.Case{
		{
			Name: "429 without Retry-After, of a stream", Stream: true, Answer: sdktest.Once(s.Refuse(429), sdktest.Events(hel, lo, done)),
			Bare: sdktest.Outcome{Err: "api", Status: 429, Code: "rate_limit_exceeded", Calls: 1},
			Ours: &sdktest.Outcome{Text: "hel|lo", Calls: 2},
		},
		{
			Name: "429 quota exhausted", Answer: s.Spent,
			Bare: sdktest.Outcome{Err: "api", Status: 429, Code: "insufficient_quota", Calls: 1},
		},
		{
			Name: "a stream", Stream: true, Answer: sdktest.Events(hel, lo, usage, done),
			Bare: sdktest.Outcome{Text: "hel|lo|", Tokens: 4, Calls: 1},
		},
		{
			Name: "an error in a stream", Stream: true, Answer: sdktest.Events(hel, broken),
			Bare: sdktest.Outcome{Text: "hel", Err: "stream", Calls: 1},
		},
		{
			Name: "a redirect to another host", Answer: sdktest.Redirect("http://elsewhere.test/v1"),
			Bare: sdktest.Outcome{Err: "origin", Calls: 1},
		},
	})
}

func suite() sdktest.Suite {
	return sdktest.Suite{
		Service: "openai",
		Under: func(base http.RoundTripper) http.RoundTripper {
			return headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(sdktest.Limiters(nil)))
		},
		Watched: func(base http.RoundTripper, o event.Observer) http.RoundTripper {
			return headrace.Transport(base, presets.OpenAITier1, headrace.WithRegistry(sdktest.Limiters(o)),
				headrace.With(guard.Policy{Observer: o, Retry: &retry.Policy{MaxAttempts: 1}}))
		},
		Program: func(transport http.RoundTripper, url string) sdktest.Call {
			return call(newClient(transport, local(url)...))
		},
		Client: func(by *http.Client, url string) sdktest.Call {
			return call(openai.NewClient(append(canary(url), option.WithHTTPClient(by), option.WithMaxRetries(0))...))
		},
		Careless: func(by *http.Client, url string) sdktest.Call {
			return call(openai.NewClient(append(canary(url), option.WithHTTPClient(by))...))
		},
		API:   apiError,
		Kind:  kind,
		Hello: hello,
		Hel:   hel,
		Codes: map[int]string{
			400: "bad_value", 401: "invalid_api_key", 404: "model_not_found", 408: "timeout", 409: "conflict", 413: "too_large",
			422: "unprocessable", 429: "rate_limit_exceeded", 500: "server_error", 503: "server_is_overloaded", 529: "overloaded",
		},
		Refusal: refusal,
		Spent:   sdktest.Always(429, refusal("insufficient_quota")),
	}
}

func refusal(code string) string {
	return `{"error":{"message":"No.","type":"some_error","param":null,"code":"` + code + `"}}`
}

func canary(url string) []option.RequestOption {
	return append(local(url), option.WithAPIKey(sdktest.Canary))
}

// call asks for a chat.
func call(client openai.Client) sdktest.Call {
	params := chat("gpt-4o-mini", "hello?")
	return func(ctx context.Context, stream bool) (string, int64, error) {
		if !stream {
			answer, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return "", 0, err
			}
			return answer.Choices[0].Message.Content, answer.Usage.TotalTokens, nil
		}
		s := client.Chat.Completions.NewStreaming(ctx, params)
		defer func() { _ = s.Close() }()
		var said []string
		var tokens int64
		for s.Next() {
			var word strings.Builder
			for _, c := range s.Current().Choices {
				word.WriteString(c.Delta.Content)
			}
			said = append(said, word.String())
			tokens += s.Current().Usage.TotalTokens
		}
		return strings.Join(said, "|"), tokens, s.Err()
	}
}

func apiError(err error) *sdktest.API {
	api, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return nil
	}
	return &sdktest.API{Status: api.StatusCode, Code: api.Code, Raw: api.RawJSON(), Request: api.Request, Response: api.Response}
}

func kind(err error) string {
	if _, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return "stream"
	}
	if err != nil && strings.Contains(err.Error(), "origin must match") {
		return "origin"
	}
	return ""
}
