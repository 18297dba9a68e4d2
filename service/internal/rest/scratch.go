package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
)

// scratch is the memory of one request, which is used again. Nothing of it is kept after the request.
type scratch struct {
	body   bytes.Buffer
	out    []byte // the answer
	fields fields
}

// mostScratch is the most memory of a request that is used again.
const mostScratch = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }} //nolint:gochecknoglobals // all handlers can share it

func newScratch() *scratch { return scratches.Get().(*scratch) } //nolint:forcetypeassert // New has made it

func (x *scratch) free() {
	if x.body.Cap() > mostScratch || cap(x.out) > mostScratch {
		return
	}
	x.body.Reset()
	x.out = x.out[:0]
	x.fields.reset()
	scratches.Put(x)
}

// receive reads the body of r.
func (x *scratch) receive(w http.ResponseWriter, r *http.Request) error {
	body := io.Reader(r.Body)
	if n := r.ContentLength; n < 0 || n > mostBody { // the server holds a client to the length that it declares
		body = http.MaxBytesReader(w, r.Body, mostBody)
	}
	_, err := x.body.ReadFrom(body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return errTooLong
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	default:
		return err
	}
}

// send sends what is in x as JSON.
func (x *scratch) send(w http.ResponseWriter, status int) {
	x.out = append(x.out, '\n')
	respond(w, status, jsonKind, x.out, &x.fields)
}
