package providertest_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

const (
	messagesPath   = "/v1/messages"
	embeddingsPath = "/v1/embeddings"

	// helloMessage is the smallest request for a message.
	helloMessage = `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":"Hello there. And more."}]}`
)

// post sends a body to a path through rt.
func post(t *testing.T, rt http.RoundTripper, url, key, body string) reply {
	t.Helper()
	return do(t, rt, newPost(t, url, key, body))
}

func newPost(t *testing.T, url, key, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req
}

func TestMessageAnswer(t *testing.T) {
	s := newServer(t, providertest.Config{})
	got := post(t, s.Transport(), base+messagesPath, "", helloMessage)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "req_000000000001", got.header.Get("Request-Id"))
	require.JSONEq(t, `{
		"id": "msg_000000000001", "type": "message", "role": "assistant", "model": "claude",
		"content": [{"type": "text", "text": "Hello there."}],
		"stop_reason": "end_turn", "stop_sequence": null,
		"usage": {"input_tokens": 10, "output_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	}`, got.body)
	got = post(t, s.Transport(), base+messagesPath, "", strings.Replace(helloMessage, "9", "2", 1))
	require.Contains(t, got.body, `"text":"Hello th"`)
	require.Contains(t, got.body, `"stop_reason":"max_tokens"`)
}

func TestMessageRequestIsUnderstood(t *testing.T) {
	var got providertest.Request
	s := newServer(t, providertest.Config{Reply: func(r providertest.Request) string { got = r; return "" }})
	post(t, s.Transport(), base+messagesPath, "k", `{"model":"m","max_tokens":7,"system":[{"type":"text","text":"12345"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}]}`)
	got.Header = nil
	require.Equal(t, providertest.Request{
		Key: "k", Path: messagesPath, Model: "m", MaxTokens: 7, PromptTokens: 11,
		Messages: []providertest.Message{{"system", "12345"}, {"user", "ab"}},
	}, got)
}

func TestEmbeddings(t *testing.T) {
	s := newServer(t, providertest.Config{Reply: func(providertest.Request) string { panic("not asked") }})
	read := func(body string, into any) {
		got := post(t, s.Transport(), base+embeddingsPath, "", body)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.NoError(t, json.Unmarshal([]byte(got.body), into))
	}
	type answer[V any] struct {
		Object, Model string
		Data          []struct {
			Index     int
			Embedding V
		}
		Usage map[string]int
	}
	var floats answer[[]float32]
	read(`{"model":"e","input":["abcde","x","abcde"],"dimensions":8}`, &floats)
	require.Equal(t, "list", floats.Object)
	require.Equal(t, "e", floats.Model)
	require.Equal(t, map[string]int{"prompt_tokens": 5, "total_tokens": 5}, floats.Usage)
	require.Len(t, floats.Data, 3)
	require.Equal(t, floats.Data[0].Embedding, floats.Data[2].Embedding, "the same text")
	require.NotEqual(t, floats.Data[0].Embedding, floats.Data[1].Embedding)
	length := 0.0
	for i, d := range floats.Data {
		require.Equal(t, i, d.Index)
		require.Len(t, d.Embedding, 8)
	}
	for _, x := range floats.Data[0].Embedding {
		length += float64(x) * float64(x)
	}
	require.InDelta(t, 1, length, 1e-6)

	var coded answer[string]
	read(`{"model":"e","input":"abcde","dimensions":8,"encoding_format":"base64"}`, &coded)
	data, err := base64.StdEncoding.DecodeString(coded.Data[0].Embedding)
	require.NoError(t, err)
	for i, want := range floats.Data[0].Embedding {
		require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	read(`{"model":"e","input":"abcde"}`, &floats)
	require.Len(t, floats.Data[0].Embedding, 16)
}

func TestMalformedRequestsOfTheRoutes(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"x"}]`
	for _, c := range []struct{ name, path, body, message string }{
		{"no JSON", messagesPath, "{", "parse"},
		{"no model", messagesPath, `{"max_tokens":1,` + messages + `}`, "model: Field required"},
		{"no messages", messagesPath, `{"model":"m","max_tokens":1}`, "at least one message"},
		{"no bound", messagesPath, `{"model":"m",` + messages + `}`, "max_tokens: Field required"},
		{"no tokens", messagesPath, `{"model":"m","max_tokens":0,` + messages + `}`, "greater than or equal to 1"},
		{"more tokens than can be summed", messagesPath, `{"model":"m","max_tokens":9223372036854775807,` + messages + `}`, "is the maximum allowed"},
		{"no JSON", embeddingsPath, "", "parse"},
		{"no model", embeddingsPath, `{"input":"x"}`, "model"},
		{"no input", embeddingsPath, `{"model":"m","input":null}`, "from 1 to 2048"},
		{"token numbers", embeddingsPath, `{"model":"m","input":[1,2]}`, "list of strings"},
		{"no dimension", embeddingsPath, `{"model":"m","input":"x","dimensions":0}`, "from 1 to 3072"},
		{"too many", embeddingsPath, `{"model":"m","input":"x","dimensions":3073}`, "from 1 to 3072"},
		{"odd format", embeddingsPath, `{"model":"m","input":"x","encoding_format":"int8"}`, "float or base64"},
	} {
		t.Run(c.path+" "+c.name, func(t *testing.T) {
			s := newServer(t, providertest.Config{})
			got := post(t, s.Transport(), base+c.path, "", c.body)
			require.Equal(t, http.StatusBadRequest, got.status)
			require.Contains(t, got.apiError(t).Message, c.message)
			require.Equal(t, "invalid_request_error", got.apiError(t).Type)
			require.Equal(t, c.path == messagesPath, strings.Contains(got.body, `"type":"error"`))
			require.Equal(t, providertest.Counts{Arrivals: 1, Invalid: 1}, s.Counts())
		})
	}
}
