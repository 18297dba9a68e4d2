package providertest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

func TestChatAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for "created"
		s := newServer(t, providertest.Config{})
		got := send(t, s.Transport(), base, "", hello)
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		require.Equal(t, "req_000000000001", got.header.Get("X-Request-Id"))
		require.JSONEq(t, `{
			"id": "chatcmpl-000000000001",
			"object": "chat.completion",
			"created": 946684800,
			"model": "test-1",
			"choices": [{
				"index": 0,
				"message": {"role": "assistant", "content": "Hello there.", "refusal": null},
				"logprobs": null,
				"finish_reason": "stop"
			}],
			"usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
		}`, got.body)
	})
}

func TestChatRequestIsUnderstood(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       providertest.Request
	}{
		{
			"plain", `{"model":"m","max_tokens":7,"messages":[{"role":"system","content":"12345"},{"role":"user","content":"é"}]}`,
			providertest.Request{MaxTokens: 7, PromptTokens: 11, Messages: []providertest.Message{{"system", "12345"}, {"user", "é"}}},
		},
		{
			"the newer limit", `{"model":"m","max_tokens":7,"max_completion_tokens":9,"messages":[{"role":"user"}]}`,
			providertest.Request{MaxTokens: 9, PromptTokens: 4, Messages: []providertest.Message{{"user", ""}}},
		},
		{
			"parts", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]}`,
			providertest.Request{PromptTokens: 5, Messages: []providertest.Message{{"user", "ab"}}},
		},
		{
			"null", `{"model":"m","max_tokens":null,"messages":[{"role":"assistant","content":null,"tool_calls":[]}],"temperature":1}`,
			providertest.Request{PromptTokens: 4, Messages: []providertest.Message{{"assistant", ""}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got providertest.Request
			s := newServer(t, providertest.Config{Reply: func(r providertest.Request) string { got = r; return "" }})
			require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "k", c.body).status)
			require.Equal(t, "application/json", got.Header.Get("Content-Type"))
			got.Header = nil
			c.want.Key, c.want.Path, c.want.Model = "k", "/v1/chat/completions", "m"
			require.Equal(t, c.want, got)
		})
	}
}

func TestKeyHeaders(t *testing.T) {
	s := newServer(t, providertest.Config{})
	req := newRequest(t.Context(), t, base, "", hello)
	req.Header.Set("X-Client-Request-Id", "second")
	do(t, s.Transport(), req)
	req = newRequest(t.Context(), t, base, "first", hello)
	req.Header.Set("X-Client-Request-Id", "second")
	do(t, s.Transport(), req)
	require.Equal(t, map[string]int{"first": 1, "second": 1}, s.Ledger().ByKey())
}

func TestReplyIsCutAtMaxTokens(t *testing.T) {
	for _, c := range []struct {
		reply, max, want, finish string
		tokens                   int
	}{
		{"éééééééé", "2", "éééééééé", "stop", 2},
		{"ééééééééé", "2", "éééééééé", "length", 2},
		{"", "1", "", "stop", 0},
	} {
		s := newServer(t, providertest.Config{Reply: func(providertest.Request) string { return c.reply }})
		got := send(t, s.Transport(), base, "", strings.Replace(hello, "{", `{"max_tokens":`+c.max+",", 1))
		var body struct {
			Choices []struct {
				Message      struct{ Content string }
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &body))
		require.Equal(t, c.want, body.Choices[0].Message.Content)
		require.Equal(t, c.finish, body.Choices[0].FinishReason)
		require.Equal(t, c.tokens, body.Usage.CompletionTokens)
	}
}

func TestExtract(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, c := range []struct{ text, want string }{
		{"", "There is nothing to summarize."},
		{" \n ", "There is nothing to summarize."},
		{"No end", "No end"},
		{"  Rivers   carry\nwater. They meet.", "Rivers carry water."},
		{"Is 3.14 pi? Nearly.", "Is 3.14 pi?"},
		{"Wait... what?", "Wait..."},
		{"Mr. Bennet met Mrs. Long. They talked.", "Mr. Bennet met Mrs. Long."},
		{"It was he. Then not.", "It was he."},
		{long, strings.TrimSpace(strings.Repeat("word ", 24)) + "..."},
	} {
		got := providertest.Extract(providertest.Request{Messages: []providertest.Message{
			{"user", "Not me."}, {"user", c.text}, {"assistant", "Nor me."},
		}})
		require.Equal(t, c.want, got)
	}
	require.Equal(t, "There is nothing to summarize.", providertest.Extract(providertest.Request{}))
}

func TestMalformedRequests(t *testing.T) {
	const path = "/v1/chat/completions"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		param, code, message     string
	}{
		{"not JSON", "POST", path, "{", 400, "", "", "parse"},
		{"empty", "POST", path, "", 400, "", "", "parse"},
		{"null", "POST", path, "null", 400, "model", "", "model"},
		{"a list", "POST", path, "[]", 400, "", "", "Invalid type"},
		{"no model", "POST", path, `{"messages":[{}]}`, 400, "model", "", "model"},
		{"no messages", "POST", path, `{"model":"m"}`, 400, "messages", "", "message"},
		{"odd content", "POST", path, `{"model":"m","messages":[{"content":7}]}`, 400, "", "", "string or a list"},
		{"odd bound", "POST", path, `{"model":"m","messages":[{}],"max_tokens":1.5}`, 400, "max_tokens", "", "'max_tokens': a JSON number 1.5"},
		{"no tokens", "POST", path, `{"model":"m","messages":[{}],"max_tokens":0}`, 400, "max_tokens", "", "at least 1"},
		{"odd stream", "POST", path, `{"model":"m","messages":[{}],"stream":1}`, 400, "stream", "", "'stream': a JSON number"},
		{"deep", "POST", path, strings.Repeat("[", 1<<20), 400, "", "", "parse"},
		{"largest", "POST", path, `{"model":"` + strings.Repeat("m", 4<<20-12) + `"}`, 400, "messages", "", "message"},
		{"too large", "POST", path, `{"model":"` + strings.Repeat("m", 4<<20-11) + `"}`, 413, "", "request_too_large", "4194304 bytes"},
		{"method", "GET", path, "", 405, "", "method_not_supported", "GET"},
		{"route", "POST", "/v1/completions", hello, 404, "", "unknown_url", "POST /v1/completions"},
		{"root", "GET", "", "", 404, "", "unknown_url", "Invalid URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, providertest.Config{Limits: providertest.Limits{Concurrency: 1}})
			req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL()+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			req.Header.Set("Idempotency-Key", "k")
			for _, got := range []reply{do(t, s.Transport(), req.Clone(t.Context())), do(t, s.Client().Transport, rewind(t, req))} {
				require.Equal(t, c.status, got.status)
				e := got.apiError(t)
				require.Equal(t, "invalid_request_error", e.Type)
				require.Contains(t, e.Message, c.message)
				require.Equal(t, c.param, orEmpty(e.Param))
				require.Equal(t, c.code, orEmpty(e.Code))
			}
			require.Equal(t, providertest.Counts{Arrivals: 2, Invalid: 2}, s.Counts())
			for a := range s.Ledger().All() {
				require.Equal(t, "k", a.Key)
				require.Equal(t, c.status, a.Status)
				require.False(t, a.Served())
			}
		})
	}
}

func rewind(t *testing.T, req *http.Request) *http.Request {
	t.Helper()
	body, err := req.GetBody()
	require.NoError(t, err)
	again := req.Clone(t.Context())
	again.Body = body
	return again
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
