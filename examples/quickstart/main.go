// Quickstart summarises texts through a language model with unknown
// limits: it splits them into sections, summarises the passages of many
// sections at once, and collects the summaries.
//
//	go run ./examples/quickstart            # its own texts, a provider in the same process
//	go run ./examples/quickstart a.txt b.md # your texts
//	go run ./examples/quickstart --openai   # the real service, with OPENAI_API_KEY
//
// The provider answers some calls with 429. The node lowers its concurrency, and
// so does the batch of flows around it; no passage fails. At the end the results
// are compared with the provider's own ledger: if a passage was dropped or done
// twice, the exit status is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/providertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(progress)
	openai := flags.Bool("openai", false, "call the real OpenAI `service` with OPENAI_API_KEY, which costs money")
	model := flags.String("model", "gpt-4o-mini", "the `model` to ask")
	flags.Usage = func() {
		fmt.Fprintln(progress, `Usage: quickstart [flags] [FILES]

Summarises text files, by default some of its own, through a provider with
hidden limits, and prints what the limiters did. The summaries and
the figures go to standard output, the progress to standard error.

Flags, which come before FILES:`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	texts, err := readTexts(flags.Args())
	if err != nil {
		return err
	}
	if *openai {
		key := os.Getenv("OPENAI_API_KEY")
		if key == "" {
			return errors.New("--openai needs OPENAI_API_KEY to be set; without --openai a provider in this process answers")
		}
		c := &client{http: &http.Client{}, base: "https://api.openai.com", key: key, model: *model}
		return digest(ctx, c, nil, texts, out, progress)
	}
	provider, err := providertest.New(hidden())
	if err != nil {
		return err
	}
	defer provider.Close()
	c := &client{http: provider.Client(), base: provider.URL(), model: *model}
	return digest(ctx, c, provider, texts, out, progress)
}

// hidden are the limits that the provider does not disclose: six calls in flight,
// thirty per second.
func hidden() providertest.Config {
	return providertest.Config{
		Limits: providertest.Limits{
			Concurrency: 6,
			Rate:        providertest.Bucket{PerSecond: 30, Burst: 10},
		},
		RetryAfter:     providertest.RetryAfterMillis,
		Latency:        providertest.LogNormal{Median: 120 * time.Millisecond, Sigma: 0.4, Max: time.Second},
		RefusalLatency: 10 * time.Millisecond,
		Seed:           1,
	}
}

// digest runs the flow, prints what came of it and checks that nothing was
// lost; without a provider there is no ledger to check against. What a stopped
// run has is printed too: it was paid for.
func digest(ctx context.Context, c *client, provider *providertest.Server, texts []text, out, progress io.Writer) error {
	d := &Digest{Texts: texts, Summaries: make([][]string, len(texts))}
	s := newStory(progress)
	f, summarise := pipeline(c, s)
	report, err := flow.Run(ctx, f, d, flow.WithObserver(s))
	if err != nil {
		d.collect()
	}
	printDigest(out, d)
	s.print(out, report, summarise)
	if provider == nil || err != nil {
		return err
	}
	return audit(out, d, provider)
}
