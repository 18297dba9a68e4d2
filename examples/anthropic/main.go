// Anthropic asks 200 questions with the official Anthropic SDK, as fast as a provider with
// undisclosed limits allows. There is no node and no flow: the SDK's http.Client
// gets a headrace.Transport, and that is all.
//
//	cd examples/anthropic
//	go run .                 # a provider in this process, about 20 s
//	go run . -stream -faults # streamed, by a provider with faults
//	go run . -rpm 120        # a tight limit, nearly two minutes
//	go run . --real          # the real service, with ANTHROPIC_API_KEY
//
// At the end the calls are compared with the provider's own ledger. If a call failed,
// was lost or was made twice, the exit status is 1.
package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

func main() { questions.Main("anthropic", run) }

func run(ctx context.Context, args []string, getenv func(string) string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	r := &questions.Run{Settings: s.Settings, Limiters: registry.Default(), Out: out, Progress: progress}
	if s.real {
		key := getenv("ANTHROPIC_API_KEY")
		if key == "" {
			return errors.New("--real needs ANTHROPIC_API_KEY to be set; without --real a provider in this process answers")
		}
		client := newClient(headrace.Transport(nil, presets.AnthropicStart), option.WithAPIKey(key))
		return r.Do(ctx, asker{s, client}.ask)
	}
	if r.Provider, err = providertest.New(hidden(s)); err != nil {
		return err
	}
	defer r.Provider.Close()
	base := r.Provider.Client().Transport
	client := newClient(headrace.Transport(base, presets.AnthropicStart), local(r.Provider.URL())...)
	return r.Do(ctx, asker{s, client}.ask)
}

// newClient is all that a program needs to set up headrace: a transport for the SDK's
// http.Client, and no other retries. The client has no Timeout, because
// it would include a call's wait for its turn. For the same reason the SDK's own timeout is
// raised: by default it is ten minutes for an answer that is not streamed.
func newClient(transport http.RoundTripper, opts ...option.RequestOption) anthropic.Client {
	return anthropic.NewClient(append(opts,
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(time.Hour),
	)...)
}

// local goes to a provider for tests. It has no use for the key and the profile
// that the environment may hold.
func local(url string) []option.RequestOption {
	return []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey("none")}
}

// asker asks through the SDK, which knows nothing of limits.
type asker struct {
	settings

	client anthropic.Client
}

func (a asker) ask(ctx context.Context, q questions.Question) (questions.Answer, error) {
	key := option.WithHeader("Idempotency-Key", q.Key)
	if a.Stream {
		return a.streamed(ctx, q.Text, key)
	}
	answer, err := a.client.Messages.New(ctx, message(a.model, q.Text), key)
	if err != nil {
		return questions.Answer{}, err
	}
	return questions.Answer{Tokens: answer.Usage.InputTokens + answer.Usage.OutputTokens}, nil
}

func message(model, question string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     model,
		MaxTokens: questions.MaxTokens,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

// streamed reads an answer as it comes.
func (a asker) streamed(ctx context.Context, question string, key option.RequestOption) (answer questions.Answer, err error) {
	stream := a.client.Messages.NewStreaming(ctx, message(a.model, question), key)
	defer func() { _ = stream.Close() }()
	begun := stream.Err() == nil
	for stream.Next() {
		event := stream.Current()
		answer.Tokens += event.Message.Usage.InputTokens + event.Usage.OutputTokens
	}
	answer.Broken = begun && stream.Err() != nil
	return answer, stream.Err()
}
