// Openai asks 200 questions with the official OpenAI SDK, as fast as a provider with
// undisclosed limits allows. There is no node and no flow: the SDK's http.Client
// gets a headrace.Transport, and that is all.
//
//	cd examples/openai
//	go run .                 # a provider in this process, half a minute
//	go run . -stream -faults # streamed, by a provider with faults
//	go run . -rpm 100        # a tight limit, a little over two minutes
//	go run . --real          # the real service, with OPENAI_API_KEY
//
// At the end the calls are compared with the provider's own ledger. If a call failed,
// was lost or was made twice, the exit status is 1.
package main

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func main() { questions.Main("openai", run) }

func run(ctx context.Context, args []string, getenv func(string) string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	r := &questions.Run{Settings: s.Settings, Limiters: registry.Default(), Out: out, Progress: progress}
	if s.real {
		key := getenv("OPENAI_API_KEY")
		if key == "" {
			return errors.New("--real needs OPENAI_API_KEY to be set; without --real a provider in this process answers")
		}
		client := newClient(headrace.Transport(nil, presets.OpenAITier1), option.WithAPIKey(key))
		return r.Do(ctx, asker{s, client}.ask)
	}
	if r.Provider, err = providertest.New(hidden(s)); err != nil {
		return err
	}
	defer r.Provider.Close()
	base := r.Provider.Client().Transport
	client := newClient(headrace.Transport(base, presets.OpenAITier1), local(r.Provider.URL())...)
	return r.Do(ctx, asker{s, client}.ask)
}

// newClient is all that a program needs to set up headrace: a transport for the SDK's
// http.Client, and no other retries. The client has no Timeout, because
// it would include a call's wait for its turn.
func newClient(transport http.RoundTripper, opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append(opts,
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
	)...)
}

// local goes to a provider for tests. It has no use for the key that the environment may hold.
func local(url string) []option.RequestOption {
	return []option.RequestOption{option.WithBaseURL(url + "/v1"), option.WithAPIKey("none")}
}

// asker asks through the SDK, which knows nothing of limits.
type asker struct {
	settings

	client openai.Client
}

func (a asker) ask(ctx context.Context, q questions.Question) (questions.Answer, error) {
	key := option.WithHeader("Idempotency-Key", q.Key)
	switch {
	case a.embeddings:
		return a.embed(ctx, q.Text, key)
	case a.Stream:
		return a.streamed(ctx, q.Text, key)
	}
	answer, err := a.client.Chat.Completions.New(ctx, chat(a.model, q.Text), key)
	if err != nil {
		return questions.Answer{}, err
	}
	return questions.Answer{Tokens: answer.Usage.TotalTokens}, nil
}

func chat(model, question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:               model,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		MaxCompletionTokens: openai.Int(questions.MaxTokens),
	}
}

func (a asker) embed(ctx context.Context, text string, key option.RequestOption) (questions.Answer, error) {
	answer, err := a.client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: a.model,
		Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(text)},
	}, key)
	if err != nil {
		return questions.Answer{}, err
	}
	return questions.Answer{Tokens: answer.Usage.TotalTokens}, nil
}

// streamed reads an answer as it comes.
func (a asker) streamed(ctx context.Context, question string, key option.RequestOption) (answer questions.Answer, err error) {
	params := chat(a.model, question)
	params.StreamOptions.IncludeUsage = openai.Bool(true) // else the tokens are guessed
	stream := a.client.Chat.Completions.NewStreaming(ctx, params, key)
	defer func() { _ = stream.Close() }()
	begun := stream.Err() == nil
	for stream.Next() {
		answer.Tokens += stream.Current().Usage.TotalTokens
	}
	answer.Broken = begun && stream.Err() != nil
	return answer, stream.Err()
}
