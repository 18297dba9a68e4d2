package replay

import (
	"io"
	"net/http"
	"sync/atomic"
)

// MaxAnswer is how much of an answer is kept, so that it can be judged, and while its
// request is sent again: 64 KiB. It is also how much is read so that the connection can be used again.
const MaxAnswer = 64 << 10

// Answer is the body of a response of which the beginning has been read, and
// that reads as if nothing had been.
type Answer struct {
	head   []byte
	read   int           // of head, by the caller
	rest   io.ReadCloser // what follows; nil: nothing, and the body is closed
	err    error         // with which it ended behind head, but for io.EOF
	closed atomic.Bool   // by the caller
}

// Head is what was read. Change nothing in it.
func (a *Answer) Head() []byte { return a.head }

// Whole reports whether there is no more than the Head.
func (a *Answer) Whole() bool { return a.rest == nil }

// Err is what the body ended with within its Head, but for io.EOF.
func (a *Answer) Err() error { return a.err }

// Release lets go of the connection. What is read afterwards is the Head, and
// then io.ErrUnexpectedEOF if that was not all.
func (a *Answer) Release() {
	if a.rest != nil {
		_ = a.rest.Close() // it is given up
		a.rest, a.err = nil, io.ErrUnexpectedEOF
	}
}

// Read implements io.Reader.
func (a *Answer) Read(p []byte) (int, error) {
	if a.closed.Load() { // another goroutine may be in a Read that Close has to end first
		return 0, http.ErrBodyReadAfterClose
	}
	n := copy(p, a.head[a.read:])
	a.read += n
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case a.rest != nil:
		return a.rest.Read(p)
	case a.err != nil:
		return 0, a.err
	}
	return 0, io.EOF
}

// Close closes what is left of the body.
func (a *Answer) Close() error {
	a.closed.Store(true)
	if a.rest == nil {
		return nil
	}
	return a.rest.Close()
}
