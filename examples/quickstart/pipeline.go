package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// Digest is the state that the flow works on.
type Digest struct {
	Texts     []text
	Sections  []Section
	Summaries [][]string // of each text, a paragraph each
}

// collect puts together what has been summarised.
func (d *Digest) collect() {
	for _, s := range d.Sections {
		if s.Summary != "" {
			d.Summaries[s.Text] = append(d.Summaries[s.Text], s.Summary)
		}
	}
}

// Section is one paragraph of a text. An instance of the inner flow works on
// its own copy.
type Section struct {
	Text     int // its place in Digest.Texts
	Passages []Passage
	Parts    []string // a summary for each passage
	Summary  string
}

// Passage is what the provider is asked about in one call.
type Passage struct {
	Key  string // its place, unique in the run
	Body string
}

// pipeline is split, a parallel batch of flows that summarise, and collect. It
// also returns the node that calls the provider.
func pipeline(c *client, s *story) (*flow.Flow[*Digest], *node.Batch[*Section, Passage, string]) {
	split := node.Do("split", func(_ context.Context, d *Digest) error {
		for i, t := range d.Texts {
			for j, paragraph := range paragraphs(t.Body) {
				section := Section{Text: i}
				for k, body := range passages(paragraph) {
					section.Passages = append(section.Passages, Passage{Key: fmt.Sprintf("%d-%s/%d/%d", i, t.Name, j, k), Body: body})
				}
				d.Sections = append(d.Sections, section)
				s.expect(len(section.Passages))
			}
		}
		return nil
	})

	summarise := node.Each("summarise",
		func(s *Section) []Passage { return s.Passages },
		func(ctx context.Context, p Passage) (string, error) { return c.summarise(ctx, p.Key, p.Body) },
		func(s *Section, parts []string) { s.Parts = parts }).
		WithParallel(4).
		WithKey(func(p Passage) string { return p.Key }).
		With(guard.Policy{
			Law:       adaptive.Measured{Initial: 16, Max: 32}, // in all sections together: the guard belongs to the node
			Retry:     &retry.Policy{},                         // for failures; 429s are waited out without it
			Timeout:   time.Minute,
			Propagate: true, // a 429 is news for the batch of sections too
		})

	join := node.Do("join", func(_ context.Context, s *Section) error {
		s.Summary = strings.Join(s.Parts, " ")
		return nil
	})

	sections := flow.Batch("sections", // and not Each, for a run that is stopped shows what it has
		func(_ context.Context, d *Digest) (iter.Seq2[Section, error], error) {
			return node.Slice(d.Sections), nil
		},
		flow.New("section", summarise).Then(join),
		func(_ context.Context, d *Digest, r *node.Report[Section, Section]) (node.Action, error) {
			d.Sections = r.Values()
			return node.Next, r.Err()
		}).
		WithParallel(8).
		With(guard.Policy{Law: adaptive.AIMD{Initial: 8, Min: 4, Max: 8, RecoveryThreshold: 3}}) // instances are long: few successes tell enough

	collect := node.Do("collect", func(_ context.Context, d *Digest) error {
		d.collect()
		return nil
	})

	return flow.New("digest", split).Then(sections).Then(collect), summarise
}
