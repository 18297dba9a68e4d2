// Registry: one guard for all that share a quota, found by its name.
//
// A provider counts an account's calls, whichever part of a program makes them.
// So nodes do not bring limits of their own: they ask a registry for the guard of
// the account. Three nodes do it here, each in its own spelling and two of them
// at the same time, and get the same guard. A template gives each mirror a guard
// of its own within the limits of all mirrors, and limits change in place while
// they are in use.
//
// A node that has a provider to itself needs no registry: WithPreset gives it a
// guard that starts from what the provider documents and reads its answers.
//
//	go run ./examples/registry
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// limits would be in a file; providers count per minute, an example has less time.
const limits = `
	lexicon: 40/s, 3 concurrent;
	mirrors: 5/s;
	mirrors/*: bucket 2/s burst 5;
	default: 1/s
`

// share has three nodes draw on the quota that is called lexicon.
func share(ctx context.Context, reg *registry.Registry, words []string) error {
	look := func(f func(string) string) func(context.Context, string) (string, error) {
		return func(_ context.Context, word string) (string, error) { return f(word), nil }
	}
	shout := node.Map("shout", look(strings.ToUpper)).WithParallel(4).Within(reg.Get("lexicon"))
	plural := node.Map("plural", look(func(word string) string { return word + "s" })).WithParallel(4).Within(reg.Get(" Lexicon "))
	measure := node.Map("measure", func(_ context.Context, word string) (int, error) { return len(word), nil }).
		Within(reg.For("LEXICON", "api.lexicon.example"))

	var wg sync.WaitGroup
	var errs [2]error
	for i, n := range []*node.Batch[node.None, string, string]{shout, plural} {
		wg.Go(func() { _, errs[i] = n.All(ctx, words) })
	}
	wg.Wait()
	lengths, err := measure.All(ctx, words)
	if err := errors.Join(errs[0], errs[1], err); err != nil {
		return err
	}
	fmt.Println(lengths)
	fmt.Println("calls on lexicon, by all three:", reg.Get("lexicon").Stats().Admitted)
	return nil
}

// refusal is the error of an SDK: it has the provider's answer.
type refusal struct {
	StatusCode int
	Body       string
}

// Error implements error.
func (r *refusal) Error() string { return http.StatusText(r.StatusCode) }

// alone has one node call a provider by its preset. The second call meets an
// overload, which OpenAI reports by a code: without the preset's dialect it would
// be a failure.
func alone(ctx context.Context, words []string) error {
	var calls atomic.Int64
	translate := node.Map("translate", func(_ context.Context, word string) (string, error) {
		if calls.Add(1) == 2 {
			return "", &refusal{http.StatusServiceUnavailable, `{"error": {"code": "slow_down"}}`}
		}
		return "le " + word, nil
	}).WithPreset(presets.OpenAITier5).WithLimits(throttle.Limits{Concurrency: 2})
	out, err := translate.All(ctx, words)
	fmt.Println(out, "in", calls.Load(), "calls")
	return err
}

func run(ctx context.Context) error {
	config, err := registry.Parse(limits)
	if err != nil {
		return err
	}
	reg, err := registry.New(config)
	if err != nil {
		return err
	}
	if err := share(ctx, reg, []string{"river", "gate", "wheel", "mill", "weir", "flume"}); err != nil {
		return err
	}
	for _, path := range [][]string{{"mirrors", "eu.mirror.example"}, {"archive", "archive.example"}} {
		g := reg.For(path...)
		fmt.Printf("%s: %s", g.Name(), g.Policy().Limits)
		for _, outer := range g.Policy().Within {
			fmt.Printf(", within %s: %s", outer.Name(), outer.Policy().Limits)
		}
		fmt.Println()
	}
	had := reg.Get("mirrors")
	if _, err := reg.Replace("mirrors", guard.Policy{Limits: throttle.Limits{Concurrency: 9}}); err != nil {
		return err
	}
	fmt.Println("mirrors, for all that have it already:", had.Policy().Limits)
	return alone(ctx, []string{"river", "gate", "wheel"})
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
