package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// JSONLFile is a sink that writes one line of JSON for each result to a file:
//
//	{"index":7,"key":"article 7","state":"done","value":"short","attempts":1}
//	{"index":8,"key":"article 8","state":"failed","error":"status 400","attempts":3}
//
// key is there if the batch has keys. With a journal each result has its line
// once, however often the process is killed: on start the file is cut behind the
// last line that was recorded. A file that does not have that line where it was
// is written anew, from the journal. Without a journal, and at the begin of a new run,
// the file is emptied. After RetryFailed a line that says done may stand behind one that
// says failed.
//
// It is for one run at a time, in one process. Close it after the last.
type JSONLFile[In, Out any] struct {
	path string

	mu   sync.Mutex    // guards everything below
	file *os.File      // nil: no run has begun
	out  *bufio.Writer // nil: as file, or it could not be gone on with
	at   position
}

var _ ResumableSink[any, any] = (*JSONLFile[any, any])(nil)

// position is the end of what was written, and the line there.
type position struct {
	end  int64  // in bytes
	last int64  // length of the last line
	sum  uint32 // of the last line
}

const positionFormat = "%d-%d-%08x"

func (p position) String() string { return fmt.Sprintf(positionFormat, p.end, p.last, p.sum) }

// positionOf returns that of mark; false if another kind of sink has made it.
func positionOf(mark string) (p position, ok bool) {
	if mark == "" {
		return p, true
	}
	_, err := fmt.Sscanf(mark, positionFormat, &p.end, &p.last, &p.sum)
	return p, err == nil && p.String() == mark && p.last >= 0 && p.end >= p.last
}

// NewJSONLFile returns a sink that writes to the file path, which is opened, or
// created with the permissions 0o644, when a run begins.
func NewJSONLFile[In, Out any](path string) *JSONLFile[In, Out] {
	return &JSONLFile[In, Out]{path: path}
}

// Resume implements ResumableSink.
func (s *JSONLFile[In, Out]) Resume(_ context.Context, mark string) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = nil
	if s.file == nil {
		if s.file, err = os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil { //nolint:gosec // results are for whoever may read the folder
			return false, fmt.Errorf("the results cannot be written: %w", err)
		}
	}
	at, ok := positionOf(mark)
	if ok {
		ok, err = s.has(at)
	}
	if err != nil || !ok {
		return false, err
	}
	if err := s.file.Truncate(at.end); err != nil {
		return false, err
	}
	if _, err := s.file.Seek(at.end, io.SeekStart); err != nil {
		return false, err
	}
	s.out, s.at = bufio.NewWriterSize(s.file, 1<<16), at
	return true, nil
}

// has reports whether the file has the line of at there.
func (s *JSONLFile[In, Out]) has(at position) (bool, error) {
	info, err := s.file.Stat()
	if err != nil || info.Size() < at.end {
		return false, err
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(s.file, at.end-at.last, at.last)); err != nil {
		return false, err
	}
	return sum.Sum32() == at.sum, nil
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

// Write implements Sink.
func (s *JSONLFile[In, Out]) Write(_ context.Context, results []Result[In, Out]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return errNotOpen
	}
	for i := range results {
		line, err := lineOf(&results[i])
		if err != nil {
			return err
		}
		if _, err := s.out.Write(line); err != nil {
			return err
		}
		n := int64(len(line))
		s.at = position{end: s.at.end + n, last: n, sum: crc32.ChecksumIEEE(line)}
	}
	return nil
}

var errNotOpen = errors.New("the JSONL file is not open: it is written by a run, before Close")

// Sync implements ResumableSink.
func (s *JSONLFile[In, Out]) Sync(context.Context) (mark string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return "", errNotOpen
	}
	if err := s.out.Flush(); err != nil {
		return "", err
	}
	if err := s.file.Sync(); err != nil {
		return "", err
	}
	return s.at.String(), nil
}

// Close writes what is left and closes the file. It may be called again.
func (s *JSONLFile[In, Out]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	var err error
	if s.out != nil {
		err = s.out.Flush()
	}
	err = errors.Join(err, s.file.Close())
	s.file, s.out = nil, nil
	return err
}
