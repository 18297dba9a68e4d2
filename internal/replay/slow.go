package replay

import (
	"io"
	"time"

	"github.com/headrace/headrace/internal/panics"
)

// patience is how long a body has to end its Read after it was closed.
const patience = time.Second

// KeepFor is Keep for a body that may not arrive: after d it is closed, and the
// Answer is what was read by then, with io.ErrUnexpectedEOF at its end.
func KeepFor(body io.ReadCloser, length int64, d time.Duration) *Answer {
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
