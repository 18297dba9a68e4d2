package requests

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Scan describes the content of a file, determined before the first call.
type Scan struct {
	Lines    int64 // lines that are not empty
	Bad      int64 // lines that cannot be sent
	Problems []Problem
	Models   []string      // requested models, at most mostModels, by name
	Cost     throttle.Cost // total of the requests that can be sent, as the dialect estimates it
	Open     int64         // requests for text without a bound on their output, which is not in Cost
	TooLarge int64         // requests that exceed a limit; they are not in Cost and Open
	Large    Problem       // the first of them

	long     longest
	repeated map[int64]seen // lines with the ID of an earlier line, and that line
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

// enoughLines is how many lines have to be something other than requests of the format for the file to have another format.
const enoughLines = 20

// FormatError is the error of a file that does not begin with requests in the format of the run.
type FormatError struct {
	Lines  int64   // that were read
	Want   string  // what none of them is
	First  Problem // of them
	Remedy string
}

// Error names the remedy.
func (e *FormatError) Error() string {
	which := fmt.Sprintf("none of its first %d lines is", e.Lines)
	if e.Lines == 1 {
		which = "its only line is not"
	}
	return fmt.Sprintf("%s %s (line %d: %s): %s", which, e.Want, e.First.Line, e.First.Text, e.Remedy)
}

// Of scans a sequence of Read with that format to its end. It returns a *FormatError if no line is a JSON object with members
// of the format, or none of the first lines. exceeds returns why a request of that cost is never admitted, or an empty text; nil
// means that all are.
func Of(ctx context.Context, seq iter.Seq2[Request, error], f Format, d dialect.Dialect, exceeds func(throttle.Cost) string) (*Scan, error) {
	s := &Scan{repeated: map[int64]seen{}}
	var file likeness
	ids := &twice{}
	defer ids.close()
	for q, err := range seq {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		s.Lines++
		file.add(&q)
		if q.Bad != "" {
			s.problem(q.Line, q.Bad)
			if s.Lines == enoughLines && !file.fits() {
				break
			}
			continue
		}
		if err := ids.add(q.ID, q.Line); err != nil {
			return nil, fmt.Errorf("the custom_ids cannot be compared in a temporary file: %w: set TMPDIR to another folder", err)
		}
		s.weigh(&q, d, exceeds)
	}
	if s.Lines > 0 && !file.fits() {
		return nil, file.err(s, f)
	}
	if err := ids.find(s.repeat); err != nil {
		return nil, err
	}
	for _, line := range slices.Sorted(maps.Keys(s.repeated)) {
		s.problem(line, repeatedText(s.repeated[line].line()))
	}
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return int(a.Line - b.Line) })
	return s, nil
}

// likeness is what the lines of a file have been so far.
type likeness struct {
	lines    int64
	objects  bool   // a line is a JSON object
	requests bool   // that has members of a request
	ours     bool   // a line does not have the other format
	other    Format // of the last line
	remedy   string // for the first line
}

func (l *likeness) add(q *Request) {
	if l.lines++; l.lines == 1 {
		l.remedy = q.NotObject
	}
	object := q.NotObject == ""
	l.objects, l.requests = l.objects || object, l.requests || object && !q.Foreign
	l.ours, l.other = l.ours || q.Of == "", q.Of
}

// fits reports whether some line may be a request of the format.
func (l *likeness) fits() bool { return l.requests && l.ours }

// err returns what is wrong with a file that does not fit f.
func (l *likeness) err(s *Scan, f Format) *FormatError {
	e := &FormatError{Lines: s.Lines, First: s.Problems[0]}
	switch {
	case !l.objects:
		e.Want, e.Remedy = "a JSON object", l.remedy
		if s.Lines == 1 && (l.remedy == fromSeveral || l.remedy == fromLines) { // there are no others that complete it
			e.Remedy = correctedJSON
		}
	case !l.requests:
		e.Want, e.Remedy = "a request", "write lines such as "+exampleOf(f)+" (docs/cli.md has commands for that)"
	default:
		e.Want, e.Remedy = "in the format "+string(f), "use --format "+string(l.other)
		e.First.Text = fmt.Sprintf("it has %s but no %s", bodyName(l.other), bodyName(f))
	}
	return e
}

// repeat notes a line with the ID of an earlier one.
func (s *Scan) repeat(again, first seen) error {
	if len(s.repeated) == mostRepeated {
		return fmt.Errorf("more than %d lines repeat the custom_id of another line, such as lines %d and %d", mostRepeated, first.line(), again.line())
	}
	s.repeated[again.line()] = first
	return nil
}

func repeatedText(first int64) string {
	return fmt.Sprintf("custom_id is the same as on line %d: each line needs its own", first)
}

func (s *Scan) problem(line int64, text string) {
	s.Bad++
	if len(s.Problems) < mostProblems {
		s.Problems = append(s.Problems, Problem{line, text})
	}
}

func (s *Scan) weigh(q *Request, d dialect.Dialect, exceeds func(throttle.Cost) string) {
	c := d.Estimate(nil, []byte(q.Body))
	s.model(q)
	s.long.add(len(q.Body))
	if exceeds != nil {
		if text := exceeds(c); text != "" {
			if s.TooLarge++; s.TooLarge == 1 {
				s.Large = Problem{q.Line, text}
			}
			return
		}
	}
	s.Cost.Requests += c.Of(throttle.Requests)
	s.Cost.Tokens += c.Of(throttle.Tokens)
	s.Cost.Input += c.Of(throttle.InputTokens)
	s.Cost.Output += c.Of(throttle.OutputTokens)
	if c.Of(throttle.OutputTokens) == 0 && generates(q.URL) {
		s.Open++
	}
}

func (s *Scan) model(q *Request) {
	if len(s.Models) == mostModels {
		return
	}
	m := q.Model()
	if i, found := slices.BinarySearch(s.Models, m); !found && m != "" {
		s.Models = slices.Insert(s.Models, i, m)
	}
}

// generates reports whether the operation at a URL returns generated text. Others, such as moderations, embeddings, rerank and images,
// have no max_tokens.
func generates(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	path = strings.TrimRight(path, "/")
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "completions", "responses", "messages", "chat", "generate", "converse", "invoke":
		return true
	}
	return strings.HasSuffix(path, ":generateContent")
}

// Repeats reports whether there are lines with the ID of an earlier line. Until Reweigh, they are among what was weighed.
func (s *Scan) Repeats() bool { return len(s.repeated) > 0 }

var errMoved = errors.New("the file was changed after it was checked, so other lines repeat a custom_id: run again")

// Reweigh determines again what can be sent, without lines that repeat an ID. The arguments are those of Of.
func (s *Scan) Reweigh(ctx context.Context, seq iter.Seq2[Request, error], d dialect.Dialect, exceeds func(throttle.Cost) string) error {
	s.Models, s.Cost, s.Open, s.TooLarge, s.Large = nil, throttle.Cost{}, 0, 0, Problem{}
	for q, err := range s.Mark(seq) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if q.Bad == "" {
			s.weigh(&q, d, exceeds)
		}
	}
	return nil
}

// Mark yields the requests of seq. Requests with the ID of an earlier line are marked as bad, and get a different
// ID, so that the first one keeps its result. It ends with an *Error if such a line is no longer where it was.
func (s *Scan) Mark(seq iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	if s == nil || len(s.repeated) == 0 {
		return seq
	}
	return func(yield func(Request, error) bool) {
		for q, err := range seq {
			if first, is := s.repeated[q.Line]; is && err == nil {
				if q.Bad != "" || !seenAt(q.ID, q.Line).same(first) {
					yield(Request{}, &Error{Line: q.Line, Err: errMoved})
					return
				}
				q.Bad = repeatedText(first.line())
				q.Alias = fmt.Sprintf("%s%d-%s", badID, q.Line, q.Hash())
			}
			if !yield(q, err) {
				return
			}
		}
	}
}
