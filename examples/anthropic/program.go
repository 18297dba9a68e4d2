package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
func (p *program) work(ctx context.Context, client anthropic.Client) error {
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
func (p *program) ask(ctx context.Context, client anthropic.Client, n int) error {
	// With a key the transport may also send again what has failed and was no
	// refusal. An answer that is paid for twice is better here than none.
	key := option.WithHeader("Idempotency-Key", keyOf(n))
	question := fmt.Sprintf("Question %d: how does the water get from the river to the wheel of a mill? Be brief.", n)
	if p.stream {
		return p.streamed(ctx, client, question, key)
	}
	answer, err := client.Messages.New(ctx, p.message(question), key)
	if err != nil {
		return err
	}
	p.tokens.Add(answer.Usage.InputTokens + answer.Usage.OutputTokens)
	return nil
}

func (p *program) message(question string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     p.model,
		MaxTokens: maxTokens,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

// streamed reads an answer as it comes. One that breaks off in the middle is the
// reader's to ask for again: nobody else knows what became of the first half.
func (p *program) streamed(ctx context.Context, client anthropic.Client, question string, key option.RequestOption) (err error) {
	for range 3 {
		stream := client.Messages.NewStreaming(ctx, p.message(question), key)
		begun := stream.Err() == nil
		for stream.Next() {
			event := stream.Current()
			p.tokens.Add(event.Message.Usage.InputTokens + event.Usage.OutputTokens)
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
