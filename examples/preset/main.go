// Preset: start from what the provider documents, and go on from what it says.
//
// A node alone would begin with a few calls and find out by being refused. A
// preset is a better place to start from: dated numbers of the provider's
// documentation, and its dialect, which reads refusals and headers. It is no
// cap. Your account may have more or less than its tier says: answers carry
// headers that tell what is left, and the node follows them both ways.
//
// Errors carry their headers by themselves. Those of successes have to be shown
// to the limiter, as here by guard.Report. headrace.Transport under an SDK
// does so without being asked.
//
//	go run ./examples/preset
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/providertest"
)

// preset is what openai/tier1 says, in calls per second.
const preset = 500.0 / 60

// newNode knows the preset, and nothing of the account.
func newNode(client chat.Client) *node.Batch[node.None, string, int] {
	return node.Map("ask", func(ctx context.Context, question string) (int, error) {
		body, header, err := client.Do(ctx, question, question)
		if err != nil {
			return 0, err
		}
		guard.Report(ctx, dialect.OpenAI.Read(time.Now(), http.StatusOK, header, body))
		return len(body), nil
	}).
		WithParallel(4).
		WithPreset(presets.OpenAITier1)
}

// work sends that many questions under an account with a limit that is not in the code.
func work(ctx context.Context, account providertest.Bucket, questions int) error {
	provider, err := providertest.New(providertest.Config{Limits: providertest.Limits{Rate: account}, Headers: true})
	if err != nil {
		return err
	}
	defer provider.Close()
	var all []string
	for i := range questions {
		all = append(all, "What are "+strconv.Itoa(i)+" mills?")
	}
	begun := time.Now()
	if _, err := newNode(chat.New(provider)).All(ctx, all); err != nil {
		return err
	}
	rate := float64(questions) / time.Since(begun).Seconds()
	fmt.Printf("an account of %g per second: %d calls, at most one refused: %t, faster than the preset: %t\n",
		account.PerSecond, questions, provider.Counts().Refused <= 1, rate > preset)
	return nil
}

func run(ctx context.Context) error {
	p, err := presets.Lookup("openai/tier1")
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, as of %s\n", p.ID, p.Limits, p.Date())
	// Both accounts are of tier 1, by name.
	if err := work(ctx, providertest.Bucket{PerSecond: 100, Burst: 6000}, 100); err != nil {
		return err
	}
	return work(ctx, providertest.Bucket{PerSecond: 4, Burst: 4}, 12)
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
