// Executor: a service that calls a model through a queue, within two limits, and
// prints the life of a call.
//
// 500 calls are submitted as fast as there is room for them. The first half is
// small, so that the limit on requests holds them back; the other is large, so
// that the limit on tokens does: what a call reserves is settled to what the
// response says it has used. The provider in this process has the same limits,
// and rejects no call.
//
//	go run ./examples/executor
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

const (
	calls    = 500
	requests = 100  // a second
	tokens   = 4000 // a second
	small    = 10   // tokens that a call of the first half may cost
	large    = 100  // and one of the other
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	provider, err := providertest.New(providertest.Config{Limits: providertest.Limits{
		Rate:   providertest.Bucket{PerSecond: requests, Burst: 2 * requests},
		Tokens: providertest.Bucket{PerSecond: tokens, Burst: 2 * tokens},
	}})
	if err != nil {
		return err
	}
	defer provider.Close()
	chat, err := endpoint.New(endpoint.Config{
		Name: "chat", Provider: "openai", BaseURL: provider.URL(), Path: "/v1/chat/completions",
		Secret: httpclient.NewSecret("sk-not-shown-anywhere"),
	})
	if err != nil {
		return err
	}
	x, err := executor.New(executor.Config{Name: "chat", Queue: 100, Policy: guard.Policy{
		Limits: throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(requests, time.Second),
			throttle.Sliding(tokens, time.Second).Of(throttle.Tokens),
		}},
		Dialect: dialect.OpenAI,
	}})
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	model, err := executor.NewModel(x, chat)
	if err != nil {
		return err
	}
	defer func() { _ = model.Close() }()

	begun := time.Now()
	tasks, err := submit(ctx, model)
	if err != nil {
		return err
	}
	if err := x.Stop(ctx); err != nil { // no new tasks; those that are there are completed
		return err
	}
	return report(out, x, tasks, provider, time.Since(begun))
}

// submit hands all calls in; it waits whenever the queue is full.
func submit(ctx context.Context, model *executor.Model) ([]*executor.Task[*endpoint.Answer], error) {
	tasks := make([]*executor.Task[*endpoint.Answer], 0, calls)
	for i := range calls {
		n, question := int64(small), fmt.Sprintf("Question %d.", i)
		if i >= calls/2 {
			n, question = large, question+strings.Repeat(" It is a long one.", 20)
		}
		t, err := model.Complete(ctx, map[string]any{
			"model": "gpt-4o-mini", "max_tokens": n,
			"messages": []map[string]string{{"role": "user", "content": question}},
		}, throttle.Cost{Tokens: n})
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

func report(
	out io.Writer, x *executor.Executor, tasks []*executor.Task[*endpoint.Answer], provider *providertest.Server, took time.Duration,
) error {
	waited := map[string]int{}
	for _, t := range tasks {
		for _, line := range t.Info().Log {
			if _, limit, ok := strings.Cut(line.Text, " for "); ok && strings.HasPrefix(line.Text, "waited") {
				waited[limit]++
			}
		}
	}
	counts := provider.Counts()
	_, err := fmt.Fprintf(out, "%d of %d calls completed in %.1f s; the provider refused %d\n",
		x.Stats().Tasks[executor.Completed], len(tasks), took.Seconds(), counts.Arrivals-counts.Admitted)
	if err != nil {
		return err
	}
	for _, w := range x.Guard().Stats().Windows {
		if _, err := fmt.Fprintf(out, "%d calls waited for %s\n", waited[w.Window.String()], w.Window); err != nil {
			return err
		}
	}
	i := tasks[len(tasks)-1].Info()
	if _, err := fmt.Fprintf(out, "\nthe life of %s: %s %s\n", i.ID, i.Request.Method, i.State); err != nil {
		return err
	}
	for _, line := range i.Log {
		if _, err := fmt.Fprintf(out, "%8.3f s  %s\n", line.At.Sub(i.Times[executor.Pending]).Seconds(), line.Text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "authorization: %s, status: %d, cost: %d tokens\n",
		i.Request.Header.Get("Authorization"), i.Response.Status, i.Cost.Tokens)
	return err
}
