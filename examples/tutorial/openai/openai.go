// Package openai asks OpenAI by its official SDK.
package openai

import (
	"context"
	"errors"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Model is a tutorial.Model.
type Model struct {
	client openai.Client
	name   string
}

// New returns the model of that name. Its key is that in OPENAI_API_KEY.
func New(name string, opts ...option.RequestOption) (*Model, error) {
	if os.Getenv("OPENAI_API_KEY") == "" {
		return nil, errors.New("openai: OPENAI_API_KEY is not set")
	}
	opts = append(opts, option.WithMaxRetries(0)) // else refusals do not reach the limiter
	return &Model{openai.NewClient(opts...), name}, nil
}

// Ask implements tutorial.Model.
func (m *Model) Ask(ctx context.Context, task, text string) (string, error) {
	answer, err := m.client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    m.name,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(task), openai.UserMessage(text)},
	})
	if err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("openai: the answer has no choices")
	}
	return answer.Choices[0].Message.Content, nil
}

// Close does nothing.
func (m *Model) Close() {}
