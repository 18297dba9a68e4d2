package requests

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Scan is what a file holds, found before its first call.
type Scan struct {
	Lines    int64 // that are requests, or should be
	Bad      int64 // of them
	Problems []Problem
	Models   []string      // that are asked for, at most mostModels, by name
	Cost     throttle.Cost // of all that can be sent, as the dialect estimates

	repeated map[int64]int64 // lines whose id an earlier line has, with that line
}

// Problem is what is wrong with a line.
type Problem struct {
	Line int64
	Text string
}

// Bounds of what is remembered.
const (
	mostProblems = 10
	mostModels   = 16
	mostRepeated = 100_000
)

// Of reads r to its end.
func Of(ctx context.Context, r io.Reader, f Format, d dialect.Dialect) (*Scan, error) {
	s := &Scan{repeated: map[int64]int64{}}
	ids := &twice{}
	defer ids.close()
	for q, err := range Read(r, f) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		s.Lines++
		if q.Bad != "" {
			s.problem(q.Line, q.Bad)
			continue
		}
		if err := ids.add(q.ID, q.Line); err != nil {
			return nil, fmt.Errorf("the custom_ids cannot be compared: %w", err)
		}
		s.weigh(&q, d)
	}
	err := ids.find(func(line, first int64) error {
		if len(s.repeated) == mostRepeated {
			return fmt.Errorf("more than %d lines have a custom_id that another line has, such as lines %d and %d", mostRepeated, first, line)
		}
		s.repeated[line] = first
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, line := range slices.Sorted(func(yield func(int64) bool) {
		for line := range s.repeated {
			if !yield(line) {
				return
			}
		}
	}) {
		s.problem(line, repeatedText(s.repeated[line]))
	}
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return int(a.Line - b.Line) })
	return s, nil
}

func repeatedText(first int64) string {
	return fmt.Sprintf("custom_id is that of line %d: each needs one of its own", first)
}

func (s *Scan) problem(line int64, text string) {
	s.Bad++
	if len(s.Problems) < mostProblems {
		s.Problems = append(s.Problems, Problem{line, text})
	}
}

func (s *Scan) weigh(q *Request, d dialect.Dialect) {
	c := d.Estimate(nil, []byte(q.Body))
	s.Cost.Requests += c.Of(throttle.Requests)
	s.Cost.Tokens += c.Of(throttle.Tokens)
	s.Cost.Input += c.Of(throttle.InputTokens)
	s.Cost.Output += c.Of(throttle.OutputTokens)
	if len(s.Models) == mostModels {
		return
	}
	m := q.Model()
	if i, found := slices.BinarySearch(s.Models, m); !found && m != "" {
		s.Models = slices.Insert(s.Models, i, m)
	}
}

// Mark yields the requests of seq, those whose id an earlier line has as bad ones. They get an id
// of their own, so that the first of them keeps its result.
func (s *Scan) Mark(seq iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	if s == nil || len(s.repeated) == 0 {
		return seq
	}
	return func(yield func(Request, error) bool) {
		for q, err := range seq {
			if first, is := s.repeated[q.Line]; is && err == nil && q.Bad == "" {
				q.Bad = repeatedText(first)
				q.Alias = fmt.Sprintf("%s%d-%s", badID, q.Line, q.Hash())
			}
			if !yield(q, err) {
				return
			}
		}
	}
}
