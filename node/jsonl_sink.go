package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

// JSONLFile is a sink that writes one line of JSON for each result to a file:
//
//	{"index":7,"key":"article 7","state":"done","value":"short","attempts":1}
//	{"index":8,"key":"article 8","state":"failed","error":"status 400","attempts":3}
//
// key is there if the batch has keys. With a journal each result has its line
// once, however often the process is killed: on start the file is cut at the
// last line that was recorded, and what the file has lost of that is written
// again. Without a journal, and at the begin of a new run, the file is emptied. After
// RetryFailed a line that says done goes before an earlier one that says failed.
//
// It is for one run at a time, in one process. Close it after the last.
type JSONLFile[In, Out any] struct {
	path string

	mu   sync.Mutex // guards everything below
	file *os.File   // nil: no run has begun
	out  *bufio.Writer
	end  int64 // of what was written
}

var _ ResumableSink[any, any] = (*JSONLFile[any, any])(nil)

// NewJSONLFile returns a sink that writes to the file path, which is opened, or
// created with the permissions 0o644, when a run begins.
func NewJSONLFile[In, Out any](path string) *JSONLFile[In, Out] {
	return &JSONLFile[In, Out]{path: path}
}

// Resume implements ResumableSink.
func (s *JSONLFile[In, Out]) Resume(_ context.Context, mark string) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil { //nolint:gosec // results are for whoever may read the folder
			return false, fmt.Errorf("node: the results cannot be written: %w", err)
		}
	}
	end, err := s.reach(mark)
	if err != nil || end < 0 {
		return false, err
	}
	if err := s.file.Truncate(end); err != nil {
		return false, err
	}
	if _, err := s.file.Seek(end, io.SeekStart); err != nil {
		return false, err
	}
	s.out, s.end = bufio.NewWriterSize(s.file, 1<<16), end
	return true, nil
}

// reach returns the offset that mark means, or -1 if the file does not reach that far.
func (s *JSONLFile[In, Out]) reach(mark string) (int64, error) {
	if mark == "" {
		return 0, nil
	}
	end, err := strconv.ParseInt(mark, 10, 64)
	if err != nil || end < 0 {
		return -1, nil //nolint:nilerr // another kind of sink has set it: this file has nothing of that
	}
	info, err := s.file.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < end {
		return -1, nil
	}
	return end, nil
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

// Write implements Sink.
func (s *JSONLFile[In, Out]) Write(_ context.Context, results []Result[In, Out]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return errors.New("node: the JSONL file is written outside of a run, or after Close")
	}
	for i := range results {
		r := &results[i]
		line := jsonlLine[Out]{Index: r.Index, Key: r.Key, State: Done.String(), Attempts: r.Attempts}
		if r.State == Failed {
			line.State, line.Error = Failed.String(), errorText(r.Err)
		} else {
			line.Value = &r.Out
		}
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("node: the result of item %d: %w", r.Index, err)
		}
		n, err := s.out.Write(append(text, '\n'))
		if s.end += int64(n); err != nil {
			return err
		}
	}
	return nil
}

// Sync implements ResumableSink.
func (s *JSONLFile[In, Out]) Sync(context.Context) (mark string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return "", os.ErrClosed
	}
	if err := s.out.Flush(); err != nil {
		return "", err
	}
	if err := s.file.Sync(); err != nil {
		return "", err
	}
	return strconv.FormatInt(s.end, 10), nil
}

// Close writes what is left and closes the file. It may be called again.
func (s *JSONLFile[In, Out]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.out.Flush(), s.file.Close())
	s.file, s.out = nil, nil
	return err
}
