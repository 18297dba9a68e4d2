package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// Slice makes items of a slice.
func Slice[In any](items []In) iter.Seq2[In, error] {
	return func(yield func(In, error) bool) {
		for _, in := range items {
			if !yield(in, nil) {
				return
			}
		}
	}
}

// Seq makes items of a sequence that cannot fail.
func Seq[In any](seq iter.Seq[In]) iter.Seq2[In, error] {
	return func(yield func(In, error) bool) {
		for in := range seq {
			if !yield(in, nil) {
				return
			}
		}
	}
}

// InputError is a line of input that is not an item.
type InputError struct {
	Line int64 // from 1
	Err  error
}

// Error names the line.
func (e *InputError) Error() string { return fmt.Sprintf("node: input line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// errNotUTF8 is for a line in which encoding/json would replace bytes.
var errNotUTF8 = errors.New("the line is not UTF-8: save the file as UTF-8")

func unmarshalLine(text []byte, to any) error {
	if !utf8.Valid(text) {
		return errNotUTF8
	}
	return json.Unmarshal(text, to)
}

// JSONL reads one JSON value per line from r, and skips empty lines and byte order marks. A line that is not UTF-8 or not an In
// fails as an item of its own, with an *InputError. An error of r ends the sequence with an *InputError.
func JSONL[In any](r io.Reader) iter.Seq2[In, error] {
	mark := []byte("\xef\xbb\xbf") // at the beginning of a file, or of one of several that were joined
	return func(yield func(In, error) bool) {
		lines := bufio.NewReader(r)
		for n := int64(1); ; n++ {
			line, err := lines.ReadBytes('\n')
			if text := bytes.TrimSpace(bytes.TrimPrefix(line, mark)); len(text) > 0 && (err == nil || err == io.EOF) {
				var in In
				problem := unmarshalLine(text, &in)
				if problem != nil {
					problem = &InputError{Line: n, Err: problem}
				}
				if !yield(in, problem) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				var none In
				yield(none, &InputError{Line: n, Err: err})
				return
			}
		}
	}
}
