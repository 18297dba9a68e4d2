package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/presets/dialect"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		about, body string
		in, out     int64
	}{
		{"OpenAI, cached is within", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64}}}`, 100, 20},
		{"Responses", `{"usage":{"input_tokens":9,"output_tokens":4,"total_tokens":13}}`, 9, 4},
		{"Anthropic, the cache is beside", `{"usage":{"input_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":8}}`, 95, 8},
		{"Bedrock, the total has the cache", `{"usage":{"inputTokens":5,"cacheReadInputTokens":70,"outputTokens":8,"totalTokens":83}}`, 75, 8},
		{"Gemini, with thoughts", `{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"thoughtsTokenCount":10,"totalTokenCount":20}}`, 7, 13},
		{"embeddings", `{"usage":{"total_tokens":6}}`, 6, 0},
		{"reasoning that is only in the total", `{"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":9}}`, 2, 7},
		{"a stream", "data: {\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}\n\ndata: {\"usage\":{\"output_tokens\":8}}\n\n", 5, 8},
		{"nothing", `{}`, 0, 0},
		{"no JSON", `<html>`, 0, 0},
		{"no body", ``, 0, 0},
		{"below zero", `{"usage":{"prompt_tokens":-5}}`, 0, 0},
	} {
		in, out := dialect.Usage([]byte(c.body))
		assert.Equal(t, [2]int64{c.in, c.out}, [2]int64{in, out}, c.about)
	}
}
