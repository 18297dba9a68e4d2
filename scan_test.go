package headrace_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets/dialect"
)

// settled is how a call ended that was answered with text, in pieces of one byte or whole.
func settled(t *testing.T, by dialect.Name, kind, text string, bytewise bool) (words []string) {
	t.Helper()
	l, b := limiter(t)
	rt := under(tripper(func(*http.Request) (*http.Response, error) {
		resp := answer(http.StatusOK, "", text)
		resp.Header.Set("Content-Type", kind)
		resp.ContentLength = -1
		if bytewise {
			resp.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader(text)))
		}
		return resp, nil
	}), "", l, guard.Policy{Dialect: by})
	require.Equal(t, text, read(t, post(t, &http.Client{Transport: rt}, secretURL, "{}"))) //nolint:bodyclose // read does
	f := b.ended()[0]
	words = []string{f.Verdict.String()}
	for name, n := range map[string]int64{"tokens": f.Used.Tokens, "input": f.Used.Input, "output": f.Used.Output} {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return words
}

// The same streams as the dialects are tested with, as they pass by.
func TestInAStreamOnlyTheProviderActsOnTheLimiter(t *testing.T) {
	files, err := filepath.Glob("presets/dialect/testdata/streams/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		text := string(b)
		first, _, _ := strings.Cut(text, "\n")
		words := strings.Fields(first)
		for ending, text := range map[string]string{
			"": text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "CR": strings.ReplaceAll(text, "\n", "\r"), "no end": strings.TrimSpace(text),
			"data in two lines": strings.ReplaceAll(text, `,"`, ",\ndata: \""),
		} {
			for _, bytewise := range []bool{false, true} {
				got := settled(t, dialect.Name(words[1]), "text/event-stream", text, bytewise)
				assert.ElementsMatch(t, words[2:], got, "%s %s, bytewise %t", name, ending, bytewise)
			}
		}
	}
}

// A usage inside the answer of a model is text, however the answer is sent.
func TestAUsageThatAToolWroteIsNotSettled(t *testing.T) {
	const (
		tool  = `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"usage":{"total_tokens":10000000}}}}]},"filler":"`
		usage = "\"}],\n\"usage\": {\n\t\"prompt_tokens\": 3,\n\t\"total_tokens\": 3\n}}"
	)
	for about, filler := range map[string]string{"short": "", "long": strings.Repeat("x", 70<<10)} {
		for kind, list := range map[string][2]string{"application/json": {"", ""}, "application/x-ndjson": {"{}\n", "\n{}"}, "application/stream+json": {"[{},", "]"}} {
			for _, bytewise := range []bool{false, true} {
				got := settled(t, dialect.OpenAI, kind, list[0]+tool+filler+usage+list[1], bytewise)
				assert.ElementsMatch(t, []string{"ok", "tokens=3", "input=3"}, got, "%s %s %t", about, kind, bytewise)
			}
		}
	}
}

// Cohere has it in meta, which others fill with what they like.
func TestTheUsageInMeta(t *testing.T) {
	const meta = `data: {"meta":{"page":7}}` + "\n\n"
	text := `data: {"event_type":"stream-end","response":{"meta":{"billed_units":{"input_tokens":3,"output_tokens":4}}}}` + "\n\n"
	assert.ElementsMatch(t, []string{"ok", "input=3", "output=4"}, settled(t, dialect.Cohere, "text/event-stream", meta+text+meta, true))
	text = `{"meta":{"billed_units":{"input_tokens":3}},"text":"` + strings.Repeat("x", 70<<10) + `"}`
	assert.ElementsMatch(t, []string{"ok", "input=3"}, settled(t, dialect.Cohere, "application/json", text, false))
	usage := `data: {"usage":{"prompt_tokens":3,"total_tokens":3}}` + "\n\n"
	assert.ElementsMatch(t, []string{"ok", "input=3", "tokens=3"}, settled(t, dialect.OpenAI, "text/event-stream", meta+usage+meta+meta, false))
}

// What is longer than a usage ever is counts as none, and a long error is still one.
func TestLongMembersOfAStream(t *testing.T) {
	long := strings.Repeat("x", 8<<10)
	assert.Equal(t, []string{"ok"}, settled(t, dialect.OpenAI, "text/event-stream", `data: {"usage":{"a":"`+long+`","total_tokens":3}}`+"\n\n", false))
	assert.Equal(t, []string{"hit"}, settled(t, dialect.OpenRouter, "text/event-stream",
		`data: {"error":{"code":429,"metadata":{"raw":"`+long+`"}},"status":500}`+"\n\n", false))
	assert.Equal(t, []string{"hit"}, settled(t, dialect.OpenAI, "text/event-stream",
		`data: {"type":"error","message":"`+long+`","code":"rate_limit_exceeded"}`+"\n\n", false))
}

// However many members of an event could explain an error, little of it is kept.
func TestAnEventWithoutEndIsBounded(t *testing.T) {
	events := "data: {" + strings.Repeat(`"code":"rate_limit_exceeded",`, 100_000) + `"error":{"code":429}}` + "\n\n"
	assert.Equal(t, []string{"hit"}, settled(t, dialect.OpenRouter, "text/event-stream", events, false))
	assert.LessOrEqual(t, headrace.Told(events), 32<<10)
}
