package dialect_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// The first line of each stream, a comment, names its sender and its meaning.
func TestInAStreamOnlyTheProviderReportsErrorsAndUsage(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		first, _, _ := bytes.Cut(text, []byte("\n"))
		words := strings.Fields(string(first))
		f := dialect.Name(words[1]).Read(arrival(), 200, nil, text)
		assert.Equal(t, words[2:], append([]string{f.Verdict.String()}, amounts(f.Used)...), name)
	}
}

func amounts(c throttle.Cost) (words []string) {
	for _, a := range []struct {
		name string
		n    int64
	}{{"tokens", c.Tokens}, {"input", c.Input}, {"output", c.Output}} {
		if a.n > 0 {
			words = append(words, fmt.Sprintf("%s=%d", a.name, a.n))
		}
	}
	return words
}

// In one JSON answer too, what stands deeper is the model's, a tool's or the caller's.
func TestInAnAnswerOnlyTheProviderReportsErrorsAndUsage(t *testing.T) {
	for _, c := range []struct {
		body string
		want adaptive.Verdict
		used throttle.Cost
	}{
		{`{"message":{"error":{"code":429}}}`, ok, throttle.Cost{}},
		{`{"meta":{"error":{"code":429}}}`, ok, throttle.Cost{}},
		{`{"delta":{"error":"ratelimited"}}`, ok, throttle.Cost{}},
		{`{"response":{"response":{"error":{"code":429}}}}`, ok, throttle.Cost{}},
		{`{"response":{"message":{"usage":{"total_tokens":9}}}}`, ok, throttle.Cost{}},
		{`{"meta":{"meta":{"usage":{"total_tokens":9}}}}`, ok, throttle.Cost{}},
		{`{"data":{"usage":{"total_tokens":9}}}`, ok, throttle.Cost{}},
		{`[[{"usage":{"total_tokens":9}}]]`, ok, throttle.Cost{}},
		{`[{"usage":{"total_tokens":9}}]`, ok, throttle.Cost{Tokens: 9, Input: 9}},
		{`{"choices":[{"message":{"tool_calls":[{"arguments":{"usage":{"total_tokens":9}}}]}}],"usage":{"total_tokens":4}}`, ok, throttle.Cost{Tokens: 4, Input: 4}},
		{`{"cost":{"actualQueryCost":7}}`, ok, throttle.Cost{}},
	} {
		f := dialect.OpenAI.Read(arrival(), 200, nil, []byte(c.body))
		assert.Equal(t, c.want, f.Verdict, c.body)
		assert.Equal(t, c.used, f.Used, c.body)
	}
}
