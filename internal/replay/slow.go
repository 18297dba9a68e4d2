package replay

import (
	"io"
	"time"

	"github.com/headrace/headrace/internal/panics"
)

// patience is how long a body has to end its Read after it was closed.
const patience = time.Second

// keeping is Keep on a goroutine of its own. A panic is the error of its Answer.
func keeping(body io.ReadCloser, length int64) <-chan *Answer {
	kept := make(chan *Answer, 1)
	go func() {
		a, err := new(Answer), error(nil)
		defer func() {
			if err != nil {
				a = &Answer{err: err}
			}
			kept <- a
		}()
		defer panics.Catch(&err)
		a = Keep(body, length)
	}()
	return kept
}

// KeepWithin is Keep for a body that may take long: an Answer that is returned
// after d has an empty Head, and the first Read waits for what Keep would have read.
func KeepWithin(body io.ReadCloser, length int64, d time.Duration) *Answer {
	kept := keeping(body, length)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case a := <-kept:
		return a
	case <-timer.C:
		return &Answer{rest: &late{body: body, kept: kept}}
	}
}

// late is a body that another goroutine has begun to read.
type late struct {
	body io.ReadCloser
	kept <-chan *Answer
	came *Answer // nil: it has not been waited for
}

// Read implements io.Reader.
func (l *late) Read(p []byte) (int, error) {
	if l.came == nil {
		l.came = <-l.kept
	}
	return l.came.Read(p)
}

// Close implements io.Closer. It ends a Read.
func (l *late) Close() error { return l.body.Close() }

// KeepFor is Keep for a body that may not arrive: after d it is closed, and the
// Answer is what was read by then, with io.ErrUnexpectedEOF at its end.
func KeepFor(body io.ReadCloser, length int64, d time.Duration) *Answer {
	kept := keeping(body, length)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case a := <-kept:
		return a
	case <-timer.C:
	}
	_ = body.Close() // which ends the Read
	timer.Reset(patience)
	select {
	case a := <-kept:
		if a.rest != nil || a.err != nil {
			a.rest, a.err = nil, io.ErrUnexpectedEOF
		}
		return a
	case <-timer.C:
		return &Answer{err: io.ErrUnexpectedEOF}
	}
}
