package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/examples/internal/sdktest"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

const (
	hello  = `{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`
	start  = "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":0}}}` + "\n\n"
	ping   = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	hel    = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}` + "\n\n"
	lo     = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}` + "\n\n"
	usage  = "event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n"
	stop   = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	spent  = `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}`
	broken = "event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"
)

// What a caller of the SDK gets is the same with a Transport, but for refusals.
// Here is what only Anthropic answers so; the rest of the table is in sdktest.
func TestConformance(t *testing.T) {
	s := suite()
	s.Conformance(t, []sdktest.Case{
		{
			Name: "429 without Retry-After, of a stream", Stream: true,
			Answer: sdktest.Once(s.Refuse(429), sdktest.Events(start, hel, lo, usage, stop)),
			Bare:   sdktest.Outcome{Err: "api", Status: 429, Code: "rate_limit_error", Calls: 1},
			Ours:   &sdktest.Outcome{Text: "|hel|lo||", Tokens: 4, Calls: 2},
		},
		{
			Name: "429 quota exhausted", Answer: sdktest.Always(429, refusal("billing_error")),
			Bare: sdktest.Outcome{Err: "api", Status: 429, Code: "billing_error", Calls: 1},
		},
		{
			Name: "400 quota exhausted", Answer: s.Spent,
			Bare: sdktest.Outcome{Err: "api", Status: 400, Code: "invalid_request_error", Calls: 1},
		},
		{
			Name: "a stream", Stream: true, Answer: sdktest.Events(start, ping, hel, lo, usage, stop),
			Bare: sdktest.Outcome{Text: "|hel|lo||", Tokens: 4, Calls: 1},
		},
		{
			Name: "an error in a stream", Stream: true, Answer: sdktest.Events(hel, broken),
			Bare: sdktest.Outcome{Text: "hel", Err: "api", Status: 200, Code: "overloaded_error", Calls: 1},
		},
		{
			Name: "a redirect to another host", Answer: sdktest.Once(sdktest.Redirect("http://elsewhere.test/"), sdktest.Always(200, hello)),
			Bare: sdktest.Outcome{Text: "hello", Tokens: 4, Calls: 2},
		},
	})
}

func suite() sdktest.Suite {
	return sdktest.Suite{
		Service: "anthropic",
		Under: func(base http.RoundTripper) http.RoundTripper {
			return headrace.Transport(base, presets.AnthropicStart, headrace.WithRegistry(sdktest.Limiters(nil)))
		},
		Watched: func(base http.RoundTripper, o event.Observer) http.RoundTripper {
			return headrace.Transport(base, presets.AnthropicStart, headrace.WithRegistry(sdktest.Limiters(o)),
				headrace.With(guard.Policy{Observer: o, Retry: &retry.Policy{MaxAttempts: 1}}))
		},
		Program: func(transport http.RoundTripper, url string) sdktest.Call {
			return call(newClient(transport, local(url)...))
		},
		Client: func(by *http.Client, url string) sdktest.Call {
			return call(anthropic.NewClient(append(canary(url), option.WithHTTPClient(by), option.WithMaxRetries(0))...))
		},
		Careless: func(by *http.Client, url string) sdktest.Call {
			return call(anthropic.NewClient(append(canary(url), option.WithHTTPClient(by))...))
		},
		API:   apiError,
		Kind:  func(error) string { return "" },
		Hello: hello,
		Hel:   hel,
		Codes: map[int]string{
			400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 408: "timeout_error",
			409: "conflict_error", 413: "request_too_large", 422: "unprocessable_error", 429: "rate_limit_error",
			500: "api_error", 503: "overloaded_error", 529: "overloaded_error",
		},
		Refusal: refusal,
		Spent:   sdktest.Always(400, spent),
	}
}

func refusal(kind string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"No."}}`
}

func canary(url string) []option.RequestOption {
	return append(local(url), option.WithAPIKey(sdktest.Canary))
}

// call asks for a message.
func call(client anthropic.Client) sdktest.Call {
	params := message("claude-haiku-4-5", "hello?")
	return func(ctx context.Context, stream bool) (string, int64, error) {
		if !stream {
			answer, err := client.Messages.New(ctx, params)
			if err != nil {
				return "", 0, err
			}
			return answer.Content[0].Text, answer.Usage.InputTokens + answer.Usage.OutputTokens, nil
		}
		s := client.Messages.NewStreaming(ctx, params)
		defer func() { _ = s.Close() }()
		var said []string
		var tokens int64
		for s.Next() {
			e := s.Current()
			said = append(said, e.Delta.Text)
			tokens += e.Message.Usage.InputTokens + e.Usage.OutputTokens
		}
		return strings.Join(said, "|"), tokens, s.Err()
	}
}

func apiError(err error) *sdktest.API {
	api, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		return nil
	}
	return &sdktest.API{Status: api.StatusCode, Code: string(api.Type()), Raw: api.RawJSON(), Request: api.Request, Response: api.Response}
}
