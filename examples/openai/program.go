package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

const (
	keyPrefix     = "question-"
	maxTokens     = 200 // of an answer; most are shorter
	progressEvery = time.Second
)

// program is one run.
type program struct {
	settings

	limiters      *registry.Registry
	provider      *providertest.Server // nil: the real service
	out, progress io.Writer

	began                time.Time
	done, tokens, broken atomic.Int64

	mu     sync.Mutex // guards failed
	failed []error
}

// work makes all calls and tells what came of it.
func (p *program) work(ctx context.Context, client openai.Client) error {
	p.began = time.Now()
	var calls, news sync.WaitGroup
	over := make(chan struct{})
	news.Go(func() { p.tell(over) })
	var next atomic.Int64
	for range p.parallel {
		calls.Go(func() {
			for n := int(next.Add(1)); n <= p.calls && ctx.Err() == nil; n = int(next.Add(1)) {
				p.note(n, p.ask(ctx, client, n))
			}
		})
	}
	calls.Wait()
	close(over)
	news.Wait()
	return p.report(context.Cause(ctx))
}

// ask makes the nth call.
func (p *program) ask(ctx context.Context, client openai.Client, n int) error {
	// With a key the transport may also send again what has failed and was no
	// refusal. An answer that is paid for twice is better here than none.
	key := option.WithHeader("Idempotency-Key", keyOf(n))
	question := fmt.Sprintf("Question %d: how does the water get from the river to the wheel of a mill? Be brief.", n)
	switch {
	case p.embeddings:
		return p.embed(ctx, client, question, key)
	case p.stream:
		return p.streamed(ctx, client, question, key)
	}
	answer, err := client.Chat.Completions.New(ctx, p.chat(question), key)
	if err != nil {
		return err
	}
	p.tokens.Add(answer.Usage.TotalTokens)
	return nil
}

func (p *program) chat(question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:               p.model,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		MaxCompletionTokens: openai.Int(maxTokens),
	}
}

func (p *program) embed(ctx context.Context, client openai.Client, text string, key option.RequestOption) error {
	answer, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: p.model,
		Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(text)},
	}, key)
	if err != nil {
		return err
	}
	p.tokens.Add(answer.Usage.TotalTokens)
	return nil
}

// streamed reads an answer as it comes. One that breaks off in the middle is the
// reader's to ask for again: nobody else knows what became of the first half.
func (p *program) streamed(ctx context.Context, client openai.Client, question string, key option.RequestOption) (err error) {
	params := p.chat(question)
	params.StreamOptions.IncludeUsage = openai.Bool(true) // else the tokens are guessed
	for range 3 {
		stream := client.Chat.Completions.NewStreaming(ctx, params, key)
		begun := stream.Err() == nil
		for stream.Next() {
			p.tokens.Add(stream.Current().Usage.TotalTokens)
		}
		_ = stream.Close()
		if err = stream.Err(); err == nil || !begun || ctx.Err() != nil {
			return err
		}
		p.broken.Add(1)
	}
	return err
}

// note writes down how a call ended.
func (p *program) note(n int, err error) {
	p.done.Add(1)
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, fmt.Errorf("%s: %w", keyOf(n), err))
}

// tell prints how far it is, until over.
func (p *program) tell(over <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-ticker.C:
			fmt.Fprintf(p.progress, "%5.0f s  %d of %d", now.Sub(p.began).Seconds(), p.done.Load(), p.calls)
			for _, l := range p.limiters.All() {
				fmt.Fprint(p.progress, "; ", l.Explain())
			}
			fmt.Fprintln(p.progress)
		}
	}
}

func keyOf(n int) string { return fmt.Sprintf("%s%03d", keyPrefix, n) }

// failures is what the callers saw, at most three of them by name.
func (p *program) failures() error {
	if len(p.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed: %w", len(p.failed), p.calls, errors.Join(p.failed[:min(3, len(p.failed))]...))
}
