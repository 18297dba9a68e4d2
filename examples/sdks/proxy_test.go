package sdks_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// The SDKs for Go know the proxy from the environment only. They retry nothing, and see no 429.
func TestThroughTheProxy(t *testing.T) {
	provider, err := providertest.New(providertest.Config{
		Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 50, Burst: 2}}, RetryAfter: providertest.RetryAfterMillis,
		Latency: providertest.Fixed(10 * time.Millisecond),
	})
	require.NoError(t, err)
	defer provider.Close()
	limiters, err := registry.New(registry.Config{})
	require.NoError(t, err)
	base := &http.Transport{MaxIdleConnsPerHost: 100}
	defer base.CloseIdleConnections()
	p, err := proxy.New(proxy.Config{Registry: limiters, Base: base, Upstreams: map[string]proxy.Upstream{
		"openai": {URL: provider.URL()}, "anthropic": {URL: provider.URL()},
	}})
	require.NoError(t, err)
	server := httptest.NewServer(p)
	defer server.Close()
	t.Setenv("OPENAI_BASE_URL", server.URL+"/openai/v1")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("ANTHROPIC_BASE_URL", server.URL+"/anthropic")
	t.Setenv("ANTHROPIC_API_KEY", "k")

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	gpt := openai.NewClient(openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(client))
	claude := anthropic.NewClient(anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(client))
	question := openai.ChatCompletionNewParams{Model: "gpt-4o-mini", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello?")}}
	letter := anthropic.MessageNewParams{
		Model: "claude-haiku-4-5", MaxTokens: 50,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello?"))},
	}
	calls := map[string]func(context.Context) (string, error){
		"openai": func(ctx context.Context) (string, error) {
			a, err := gpt.Chat.Completions.New(ctx, question)
			if err != nil {
				return "", err
			}
			return a.Choices[0].Message.Content, nil
		},
		"openai stream": func(ctx context.Context) (string, error) {
			var text strings.Builder
			s := gpt.Chat.Completions.NewStreaming(ctx, question)
			defer func() { _ = s.Close() }()
			for s.Next() {
				for _, c := range s.Current().Choices {
					text.WriteString(c.Delta.Content)
				}
			}
			return text.String(), s.Err()
		},
		"anthropic": func(ctx context.Context) (string, error) {
			a, err := claude.Messages.New(ctx, letter)
			if err != nil {
				return "", err
			}
			return a.Content[0].Text, nil
		},
		"anthropic stream": func(ctx context.Context) (string, error) {
			var text strings.Builder
			s := claude.Messages.NewStreaming(ctx, letter)
			defer func() { _ = s.Close() }()
			for s.Next() {
				text.WriteString(s.Current().Delta.Text)
			}
			return text.String(), s.Err()
		},
	}
	const each = 5
	var wg sync.WaitGroup
	for name, call := range calls {
		for range each {
			wg.Go(func() {
				text, err := call(t.Context())
				assert.NoError(t, err, name)
				assert.NotEmpty(t, text, name)
			})
		}
	}
	wg.Wait()
	stats := p.Stats()
	assert.EqualValues(t, each*len(calls), stats.Calls)
	assert.Positive(t, stats.Refused)
	assert.Equal(t, stats.Refused, stats.Hidden)
}
