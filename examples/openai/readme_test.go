package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
)

// The first code of the README is that of the example below, which runs. The
// others are for node, which has no SDK.
func TestReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	ours, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(readme))
	require.NotNil(t, block)
	require.Contains(t, block[1], "headrace.Transport")
	require.Contains(t, strings.ReplaceAll(string(ours), "\n\t", "\n"), "\n"+block[1])
}

// What a program changes, and a call that goes to a provider in this process
// in place of the real one.
func Example_readme() {
	client := openai.NewClient(
		option.WithHTTPClient(&http.Client{Transport: headrace.Transport(nil, presets.OpenAITier1)}),
		option.WithMaxRetries(0),
	)

	provider, err := providertest.New(providertest.Config{})
	if err != nil {
		panic(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer provider.Close()
	answer, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    openai.ChatModelGPT5_6Luna,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How does a mill work?")},
	}, local(provider.URL())...)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Choices[0].FinishReason, provider.Ledger().Served)
	// Output: stop 1
}
