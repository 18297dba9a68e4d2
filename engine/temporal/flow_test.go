package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// library is a state with everything that a flow can have: steps, a branch and a loop, a batch, a fork, a
// nested flow, and a batch of flows with batches inside.
type library struct {
	Names  []string
	Books  []book
	Rounds int
	Facts  struct{ Short, Long int }
	Sizes  []int
	Log    []string
}

type book struct {
	Title string
	Words []string
	Sum   int
}

// provider counts calls, and rejects or fails some of them the first time.
type provider struct {
	calls, rejected, failed atomic.Int64
}

func (p *provider) size(_ context.Context, word string) (int, error) {
	n := p.calls.Add(1)
	switch {
	case n%11 == 3:
		p.rejected.Add(1)
		return 0, &adaptive.RateLimitHit{RetryAfter: 30 * time.Millisecond}
	case n%13 == 5:
		p.failed.Add(1)
		return 0, errors.New("the provider has a bad minute")
	default:
		return len(word), nil
	}
}

const again node.Action = "again"

// libraries is the flow of a library. The provider may be nil where it is only described.
func libraries(p *provider) *flow.Flow[*library] {
	often := retry.Policy{MaxAttempts: 6, Initial: 10 * time.Millisecond}
	open := node.Do("open", func(_ context.Context, l *library) error {
		for i, name := range l.Names {
			l.Books = append(l.Books, book{Title: name, Words: strings.Fields(strings.Repeat(name+" ", i+1))})
		}
		return nil
	})
	words := node.Each("words", func(b *book) []string { return b.Words }, p.size, func(b *book, n []int) {
		b.Sum = 0
		for _, size := range n {
			b.Sum += size
		}
	}).WithParallel(3).WithRetry(often)
	books := flow.Each("books", func(l *library) []book { return l.Books }, flow.New("book", words),
		func(l *library, done []book) { l.Books = done }).WithParallel(4)
	facts := flow.Parallel("facts",
		node.Do("short", func(_ context.Context, l *library) error { l.Facts.Short = len(l.Books[0].Title); return nil }),
		node.Each("long", func(l *library) []string { return l.Names[1:2] }, p.size, func(l *library, n []int) { l.Facts.Long = n[0] }).WithRetry(often),
	)
	judge := node.Decide("judge", func(_ context.Context, l *library) (node.Action, error) {
		if l.Rounds < 3 {
			return again, nil
		}
		return node.Next, nil
	})
	grow := node.Do("grow", func(_ context.Context, l *library) error { l.Rounds++; return nil })
	rounds := flow.New("rounds", judge).On(judge, again, grow).On(grow, node.Next, judge).End(judge, node.Next)
	sizes := node.BatchFunc("sizes",
		func(_ context.Context, l *library) (iter.Seq2[string, error], error) {
			return func(yield func(string, error) bool) {
				for i, name := range l.Names {
					if i == 1 && !yield("", errors.New("a line that is not valid")) {
						return
					}
					if !yield(name, nil) {
						return
					}
				}
			}, nil
		},
		p.size,
		func(_ context.Context, l *library, r *node.Report[string, int]) (node.Action, error) {
			for f := range r.Failed() {
				l.Log = append(l.Log, fmt.Sprint(f.Index, " ", f.Err))
			}
			l.Sizes = r.Values()
			return node.Next, nil
		}).WithParallel(2).WithRetry(often)
	return flow.New("library", open).Then(books).Then(facts).Then(rounds).Then(sizes)
}

func names() *library { return &library{Names: []string{"mill", "wheelrace", "gate", "sluice"}} }
