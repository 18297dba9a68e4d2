package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/headrace/headrace/internal/panics"

	"github.com/headrace/headrace/internal/appendfile"
)

// JSONLFile is a ResumableSink that writes one line of JSON for each result:
//
//	{"index":7,"key":"article 7","state":"done","value":"short","attempts":1}
//	{"index":8,"key":"article 8","state":"failed","error":"status 400","attempts":3}
//
// With a journal each result has its line once, however often the process is killed; after RetryFailed
// a line with done may follow one with failed. ErrNotResults and ErrFileBusy protect files of others.
// It is for one batch: runs of another fail with a *SinkError. Close it after the last run.
type JSONLFile[In, Out any] struct {
	path string

	mu   sync.Mutex       // guards everything below
	file *appendfile.File // nil: no run has begun
	open bool             // the file can be written to
	anew bool             // the journal has the content of the file, so it may be rewritten
	of   string           // the batch that writes to it; "" if no run has begun
	held bool             // by a run
}

var (
	// ErrNotResults is returned for a file that is not known to hold results of the run.
	ErrNotResults = errors.New("it is not empty, and not known to hold results of this run: move it away, or write to another file")
	// ErrFileBusy is returned for a file that another run or process is writing.
	ErrFileBusy = appendfile.ErrBusy
)

var (
	_ ResumableSink[any, any] = (*JSONLFile[any, any])(nil)
	_ rewriter                = (*JSONLFile[any, any])(nil)
	_ owned                   = (*JSONLFile[any, any])(nil)
	_ texter[any]             = (*JSONLFile[any, any])(nil)
)

// NewJSONLFile returns a sink that writes to path. A run opens the file, or creates it with mode
// 0o644.
func NewJSONLFile[In, Out any](path string) *JSONLFile[In, Out] {
	return &JSONLFile[In, Out]{path: path}
}

// own implements owned.
func (s *JSONLFile[In, Out]) own(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.of != "" && s.of != name {
		return false
	}
	s.of, s.held = name, true
	return true
}

// disown implements owned.
func (s *JSONLFile[In, Out]) disown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// jsonlBegin is how each line begins.
const jsonlBegin = `{"index":`

// Resume implements ResumableSink.
func (s *JSONLFile[In, Out]) Resume(_ context.Context, mark string) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	anew := s.anew
	s.open, s.anew = false, false
	if s.file == nil {
		if s.file, err = appendfile.Open(s.path); err != nil {
			return false, fmt.Errorf("the results cannot be written: %w", err)
		}
	}
	at, ok := appendfile.Parse(mark)
	if ok {
		ok, err = s.file.Has(at)
	}
	if err != nil {
		return false, err
	}
	if !ok || at.End == 0 { // it is emptied, now or by the next call
		if err := s.mayEmpty(anew || mark != ""); err != nil {
			return false, err
		}
	}
	if !ok && mark != "" {
		return false, nil
	}
	s.open = true
	return true, s.file.Continue(at)
}

// mayEmpty returns an error if the file holds something that is not known to be
// in a journal.
func (s *JSONLFile[In, Out]) mayEmpty(recorded bool) error {
	size, err := s.file.Size()
	if err != nil || size == 0 {
		return err
	}
	ours, err := s.file.Begins(jsonlBegin)
	if err != nil || ours && recorded {
		return err
	}
	return fmt.Errorf("%s: %w", s.path, ErrNotResults)
}

// mayRewrite implements rewriter.
func (s *JSONLFile[In, Out]) mayRewrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anew = true
}

// jsonlLine is one result.
type jsonlLine[Out any] struct {
	Index    int64  `json:"index"`
	Key      string `json:"key,omitempty"`
	State    string `json:"state"`
	Value    *Out   `json:"value,omitempty"`
	Error    string `json:"error,omitempty"`
	Attempts int    `json:"attempts"`
}

func lineOf[In, Out any](r *Result[In, Out]) ([]byte, error) {
	line := jsonlLine[Out]{Index: r.Index, Key: r.Key, State: Done.String(), Attempts: r.Attempts}
	if r.State == Failed {
		line.State, line.Error = Failed.String(), errorText(r.Err)
		if known, ok := r.Err.(*RecordedError); ok { //nolint:errorlint // as the journal gives it
			line.Error = known.Text
		}
	} else {
		line.Value = &r.Out
	}
	text, err := json.Marshal(line)
	if err != nil {
		return nil, fmt.Errorf("the result of item %d: %w", r.Index, err)
	}
	return append(text, '\n'), nil
}

// check implements texter.
func (s *JSONLFile[In, Out]) check(out *Out) (err error) {
	defer panics.Catch(&err)
	_, err = json.Marshal(out)
	return err
}

// Write implements Sink.
func (s *JSONLFile[In, Out]) Write(ctx context.Context, results []Result[In, Out]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // the run has ended, and another may have the file
		return context.Cause(ctx)
	}
	if !s.open {
		return errNotOpen
	}
	for i := range results {
		line, err := lineOf(&results[i])
		if err == nil {
			err = s.file.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errNotOpen = errors.New("the JSONL file is not open: it is written by a run, before Close")

// Sync implements ResumableSink.
func (s *JSONLFile[In, Out]) Sync(context.Context) (mark string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return "", errNotOpen
	}
	at, err := s.file.Sync()
	if err != nil {
		return "", err
	}
	return at.String(), nil
}

// Close flushes, closes and unlocks the file. It may be called again.
func (s *JSONLFile[In, Out]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = ""
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.open = nil, false
	return err
}
