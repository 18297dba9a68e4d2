package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
)

// The first code of the README and of docs/http.md: what a program changes, and a call that goes to a provider in this process
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
