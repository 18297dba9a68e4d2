package replay

import (
	"bytes"
	"io"
)

// MaxAnswer is how much of an answer is kept while its request is sent again:
// 64 KiB. It is also how much is read so that the connection can be used again.
const MaxAnswer = 64 << 10

// Answer is the body of a response of which the beginning has been read, and
// that reads as if nothing had been.
type Answer struct {
	head []byte
	io.Reader
	rest io.ReadCloser // nil: all is in head, and it is closed
	err  error
}

// Keep reads up to MaxAnswer of body, and closes it if that was all.
func Keep(body io.ReadCloser) *Answer {
	a := &Answer{}
	var err error
	a.head, err = io.ReadAll(io.LimitReader(body, MaxAnswer))
	a.Reader = bytes.NewReader(a.head)
	if err == nil && len(a.head) == MaxAnswer {
		a.Reader, a.rest = io.MultiReader(a.Reader, body), body
		return a
	}
	_ = body.Close() // it was read to its end
	if a.err = err; err != nil {
		a.Reader = io.MultiReader(a.Reader, broken{err})
	}
	return a
}

// Head is what was read. Change nothing in it.
func (a *Answer) Head() []byte { return a.head }

// Err is what the body ended with within its Head, but for io.EOF.
func (a *Answer) Err() error { return a.err }

// Release lets go of the connection. What is read afterwards is the Head, and
// then io.ErrUnexpectedEOF if that was not all. Nothing may have been read before.
func (a *Answer) Release() {
	if a.rest == nil {
		return
	}
	_ = a.rest.Close() // it is given up
	a.Reader, a.rest = io.MultiReader(bytes.NewReader(a.head), broken{io.ErrUnexpectedEOF}), nil
}

// Close implements io.Closer.
func (a *Answer) Close() error {
	if a.rest == nil {
		return nil
	}
	return a.rest.Close()
}

// broken is a reader that has failed.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }
