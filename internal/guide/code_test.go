package guide

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/download"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// Below is the code of the guides that is in no example. It compiles, which is
// what is asked of it; what it says is tested where it belongs.

type answer func(ctx context.Context, text string) (string, error)

// docs/adaptive.md.
func _(ctx context.Context, client interface {
	Complete(ctx context.Context, prompt string) error
}, prompt string,
) error {
	lim, err := guard.New(guard.Policy{
		Name: "openai",
		Law:  adaptive.Measured{}, // the default; or adaptive.AIMD{}, see "Which law" below
	})
	if err != nil {
		return err
	}
	err = lim.Do(ctx, throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
		return client.Complete(ctx, prompt)
	})
	return err
}

// docs/dialects.md.
func _(ctx context.Context, n *node.Batch[node.None, string, string], resp *http.Response, body []byte) (*guard.Guard, error) {
	guard.Report(ctx, dialect.OpenAI.Read(time.Now(), resp.StatusCode, resp.Header, body)) // inside the call

	n.With(guard.Policy{Dialect: dialect.OpenAI})                   // a node
	own, err := guard.New(guard.Policy{Dialect: dialect.Anthropic}) // a loop of your own

	n.With(guard.Policy{Dialect: calm{}})
	return own, err
}

type calm struct{}

func (calm) Name() string { return "calm" }

func (calm) Read(now time.Time, status int, h http.Header, body []byte) adaptive.Feedback {
	f := dialect.Generic.Read(now, status, h, body)
	if seconds, err := strconv.Atoi(h.Get("X-Calm")); status == 420 && err == nil {
		f.Verdict, f.RetryAfter = adaptive.Hit, time.Duration(seconds)*time.Second
	}
	return f
}

func (calm) Estimate(r *http.Request, body []byte) throttle.Cost {
	return dialect.Generic.Estimate(r, body)
}

// docs/registry.md.
func _(ctx context.Context, shorten, french answer, host string, fetch func(context.Context) error) error {
	config, err := registry.Parse("openai: 500/min, 200k tokens/min; crawl: 20/s; crawl/*: bucket 2/s burst 5; default: 1/s")
	if err != nil {
		return err
	}
	reg, err := registry.New(config)
	if err != nil {
		return err
	}
	summarise := node.Map("summarise", shorten).WithParallel(16).Within(reg.Get("openai"))
	translate := node.Map("translate", french).WithParallel(16).Within(reg.Get("openai")) // the same guard
	err = reg.For("crawl", host).Do(ctx, throttle.Cost{}, fetch)                          // 2/s for this host, 20/s for all
	return errors.Join(err, summarise.Validate(), translate.Validate())
}

// docs/http.md.
func _(ctx context.Context, messages []map[string]string, url string) error {
	chat, err := endpoint.New(endpoint.Config{
		BaseURL: "https://api.openai.com/v1",
		Path:    "/chat/completions",
		Secret:  httpclient.SecretFromEnv("OPENAI_API_KEY"),
		Timeout: time.Minute,
	})
	if err != nil {
		return err
	}
	answer, err := chat.Call(ctx, map[string]any{"model": "gpt-5.6-luna", "messages": messages})
	if err != nil {
		return err
	}
	_ = answer
	batch, err := endpoint.New(endpoint.Config{BaseURL: "https://api.openai.com/v1", Path: "/batches/{id}", Method: http.MethodGet})
	if err != nil {
		return err
	}
	answer, err = batch.Call(ctx, endpoint.Params{Path: map[string]string{"id": "batch_123"}})
	if err != nil {
		return err
	}
	client, err := httpclient.New(httpclient.Config{MaxResponse: 20 << 30, Gate: &httpclient.Gate{}})
	if err != nil {
		return err
	}
	result, err := download.Fetch(ctx, client.Following(httpclient.Follow{}), url, "model.bin", download.Config{Checksum: "sha256:..."})
	_, _ = answer, result
	return err
}

// docs/flows.md.
func _(ctx context.Context, f node.Node[string], state string) error {
	report, err := flow.Run(ctx, f, state, flow.WithProgress(func(p event.Progress) {
		fmt.Printf("%d of %d, %d failed, %.1f/s, %s left\n", p.Items.Done, p.Items.Total, p.Items.Failed, p.Items.Rate, p.Items.ETA)
		for _, l := range p.Limiters {
			fmt.Println(l.Name, l.Why)
		}
	}, time.Second))

	fmt.Print(flow.Mermaid(f, flow.ShowLimits(), flow.ShowCounts(report)))
	return err
}

// docs/resume.md.
//
//nolint:contextcheck // the context of a program begins here
func _(summarise *node.Batch[node.None, string, string], texts []string, j journal.Journal) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills at once

	summaries, err := summarise.WithJournal(j).All(journal.WithRun(ctx, "2026-11-22"), texts)
	_ = summaries
	return err
}

// docs/resume.md.
func _(ctx context.Context, j journal.Retainer) error {
	forgotten, err := journal.ForgetBefore(ctx, j, time.Now().AddDate(0, -1, 0))
	_ = forgotten
	return err
}

// docs/batches.md.
func _(ctx context.Context, ask *node.Batch[node.None, string, string], items []string) error {
	outs, err := ask.All(ctx, items)
	if failed, ok := errors.AsType[*node.BatchError](err); ok {
		fmt.Println(failed.Counts.Done, "done,", failed.Counts.Failed, "failed:", failed.First)
		if errors.Is(err, adaptive.ErrQuotaExhausted) {
			fmt.Println("the money is gone")
		}
	}
	_ = outs
	return err
}
