package dialect_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func request(method, address string) *http.Request {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return &http.Request{Method: method, URL: u}
}

func TestEstimate(t *testing.T) {
	file := strings.Repeat("QUJD", 100)
	for _, tc := range []struct {
		about string
		by    dialect.Name
		body  string
		want  throttle.Cost
	}{
		{"nothing", dialect.OpenAI, "", throttle.Cost{Requests: 1}},
		{"no JSON", dialect.OpenAI, "--boundary", throttle.Cost{Requests: 1}},
		{"a list", dialect.OpenAI, `["text"]`, throttle.Cost{Requests: 1}},
		{"cut off", dialect.OpenAI, `{"prompt":"eight by`, throttle.Cost{Requests: 1, Tokens: 2, Input: 2}},
		{"rounded up", dialect.Generic, `{"prompt":"12345"}`, throttle.Cost{Requests: 1, Input: 2}},
		{"what names the parts is no text", dialect.Generic, `{"model":"long-name","messages":[{"role":"user","type":"message","content":"1234"}],"metadata":{"a":"b"}}`, throttle.Cost{Requests: 1, Input: 1}},
		{"tools are", dialect.Generic, `{"tools":[{"name":"f","description":"1234","parameters":{"properties":{"a":{"description":"5678"}}}}]}`, throttle.Cost{Requests: 1, Input: 2}},
		{"escapes", dialect.Generic, `{"prompt":"\n\"\\\u00e9\ud83d\ude00\u20ac\u0041"}`, throttle.Cost{Requests: 1, Input: 4}}, // 3+2+4+3+1 bytes
		{"a pair", dialect.Generic, `{"prompt":"\ud83d\ude00"}`, throttle.Cost{Requests: 1, Input: 1}},
		{"a number is no text", dialect.Generic, `{"prompt":5}`, throttle.Cost{Requests: 1}},
		{"deeper than anybody goes", dialect.Generic, `{"messages":` + strings.Repeat(`[`, 70) + `"1234"`, throttle.Cost{Requests: 1}},
		{"tokens as numbers", dialect.OpenAI, `{"input":[1,2,3]}`, throttle.Cost{Requests: 1, Tokens: 3, Input: 3}},
		{"lists of them", dialect.OpenAI, `{"input":[[1,2],[3,-4]]}`, throttle.Cost{Requests: 1, Tokens: 4, Input: 4}},
		{"max_tokens and n", dialect.OpenAI, `{"prompt":"1234","max_tokens":50,"n":3}`, throttle.Cost{Requests: 1, Tokens: 50, Input: 1, Output: 150}},
		{"an amount that is none", dialect.OpenAI, `{"prompt":"1234","max_tokens":"50","n":-3}`, throttle.Cost{Requests: 1, Tokens: 1, Input: 1}},
		{"an absurd amount", dialect.Azure, `{"max_tokens":1e300,"n":1e300}`, throttle.Cost{Requests: 1, Tokens: throttle.MaxAmount, Output: throttle.MaxAmount}},
		{"an absurd amount beside a prompt", dialect.Generic, `{"prompt":"1234","max_tokens":1e300}`, throttle.Cost{Requests: 1, Input: 1, Output: throttle.MaxAmount - 1}},
		{"a picture", dialect.Anthropic, `{"max_tokens":9,"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"` + file + `"}}]}]}`, throttle.Cost{Requests: 1, Input: 1000, Output: 9}},
		{"a picture elsewhere", dialect.Generic, `{"messages":[{"content":[{"image_url":{"url":"https://x/y.png"}}]}]}`, throttle.Cost{Requests: 1, Input: 1000}},
		{"a picture as an address", dialect.Generic, `{"input":"data:image/png;base64,` + file + `"}`, throttle.Cost{Requests: 1, Input: 1000}},
		{"a document", dialect.Cohere, `{"message":"12345678","documents":[{"data":"` + strings.Repeat("one two ", 50) + `"},{"data":{"text":"1234"}}]}`, throttle.Cost{Requests: 1, Input: 103}},
		{"not a picture", dialect.Generic, `{"prompt":"data: none"}`, throttle.Cost{Requests: 1, Input: 3}},
		{"gemini", dialect.Gemini, `{"contents":[{"parts":[{"text":"1234"}]}],"systemInstruction":{"parts":[{"text":"1234"}]},"generationConfig":{"maxOutputTokens":50,"candidateCount":2}}`, throttle.Cost{Requests: 1, Tokens: 2, Input: 2, Output: 100}},
		{"gemini, many", dialect.Gemini, `{"requests":[{"content":{"parts":[{"text":"1234"}]}},{"content":{"parts":[{"text":"1234"}]}}]}`, throttle.Cost{Requests: 1, Tokens: 2, Input: 2}},
		{"bedrock without a maximum", dialect.Bedrock, `{"messages":[{"content":[{"text":"1234"}]}]}`, throttle.Cost{Requests: 1, Input: 1, Output: 4096}},
		{"bedrock with one", dialect.Bedrock, `{"messages":[],"inferenceConfig":{"maxTokens":5}}`, throttle.Cost{Requests: 1, Output: 5}},
		{"bedrock, an embedding", dialect.Bedrock, `{"inputText":"1234"}`, throttle.Cost{Requests: 1, Input: 1}},
		{"cohere, a chat", dialect.Cohere, `{"message":"1234","max_tokens":5}`, throttle.Cost{Requests: 1, Input: 1, Output: 5}},
		{"cohere, inputs", dialect.Cohere, `{"texts":["1234","5678"]}`, throttle.Cost{Requests: 1, Input: 2, Points: 2}},
		{"too deep", dialect.Generic, `{"messages":` + strings.Repeat(`[`, 1<<20), throttle.Cost{Requests: 1}},
	} {
		assert.Equal(t, tc.want, tc.by.Estimate(nil, []byte(tc.body)), tc.about)
	}
	images := request("POST", "https://api.x.ai/v1/images/generations")
	assert.Equal(t, int64(1), dialect.XAI.Estimate(images, nil).Points)
	assert.Equal(t, int64(1), dialect.GitHub.Estimate(nil, nil).Points)
	assert.Equal(t, int64(1), dialect.GitHub.Estimate(request("HEAD", "https://api.github.com"), nil).Points)
	assert.Equal(t, int64(5), dialect.GitHub.Estimate(request("DELETE", "https://api.github.com"), nil).Points)
	assert.Equal(t, throttle.Cost{Requests: 1}, dialect.Auto.Estimate(&http.Request{}, nil))
}

// The oracle decodes the request and counts what stands in it.
func TestEstimateCountsTheTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 6).Draw(t, "texts")
		messages := []any{}
		n := 0
		for _, text := range texts {
			n += len(text)
			content := any(text)
			if rapid.Bool().Draw(t, "in parts") {
				content = []any{map[string]any{"type": "text", "text": text}}
			}
			messages = append(messages, map[string]any{"role": "user", "content": content})
		}
		most := rapid.Int64Range(0, 1e6).Draw(t, "most")
		body, err := json.Marshal(map[string]any{"model": "m", "messages": messages, "max_tokens": most, "stream": true})
		require.NoError(t, err)
		want := int64(n+3) / 4
		got := dialect.OpenAI.Estimate(nil, body)
		assert.Equal(t, throttle.Cost{Requests: 1, Tokens: max(want, most), Input: want, Output: most}, got)
		assert.Equal(t, throttle.Cost{Requests: 1, Input: want, Output: most}, dialect.Anthropic.Estimate(nil, body))
	})
}
