package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// MaxKept is the length up to which a body is kept in memory, so that it can be
// sent again: 1 MiB.
const MaxKept = 1 << 20

// errUsed is the error of a second attempt with a body that can be read once only.
var errUsed = errors.New("replay: the body can be read once only; set GetBody, or a ContentLength of at most 1 MiB")

// Body gives the body of a request to one attempt after the other. It belongs
// to the exchange and is for one goroutine; the bodies that it gives may be read
// and closed by any.
type Body struct {
	kept   []byte
	again  func() (io.ReadCloser, error) // of what is kept
	shared *shared                       // nil: there is no body, or it is kept
}

// Of takes over the body of req. It is kept, and read here, if its length is
// known and at most MaxKept and either there is no GetBody or whole asks for it.
// The error is one of reading, and the body is closed then. Close b when no
// attempt will follow.
func Of(req *http.Request, whole bool) (b Body, err error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return Body{}, nil
	case req.ContentLength > 0 && req.ContentLength <= MaxKept && (whole || req.GetBody == nil):
		return keepBody(req)
	default:
		return Body{shared: &shared{body: req.Body, getBody: req.GetBody}}, nil
	}
}

func keepBody(req *http.Request) (Body, error) {
	defer req.Body.Close()
	kept := make([]byte, req.ContentLength+1) // one byte too many is reported by what sends it
	n, err := io.ReadFull(req.Body, kept)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Body{}, err
	}
	b := Body{kept: kept[:n:n]}
	b.again = func() (io.ReadCloser, error) {
		r := &keptReader{}
		r.Reset(kept[:n:n])
		return r, nil
	}
	return b, nil
}

// keptReader reads what is kept.
type keptReader struct{ bytes.Reader }

// Close implements io.Closer.
func (*keptReader) Close() error { return nil }

// Kept is the body if it was kept, or nil. It must not be changed.
func (b *Body) Kept() []byte { return b.kept }

// Peek returns the body to be looked at before the first attempt, nil if it
// would be lost by that. From then on every attempt has one of GetBody, which
// may rewind the body that was looked at.
func (b *Body) Peek() io.Reader {
	if b.shared == nil || b.shared.getBody == nil {
		return nil
	}
	b.shared.looked = true
	return b.shared.body
}

// Replayable reports whether Next has a body for another attempt. One without
// GetBody can be handed on as long as no attempt has read of it.
func (b *Body) Replayable() bool { return b.shared == nil || b.shared.replayable() }

// Next puts the body for the next attempt into out, a copy of the request, with
// a GetBody for net/http's own use where there can be one. The attempt before
// loses its body, even if it is still being read.
func (b *Body) Next(out *http.Request) (err error) {
	switch {
	case b.shared != nil:
		if b.shared.getBody != nil {
			out.GetBody = b.shared.next
		}
		out.Body, err = b.shared.next()
	case b.again != nil:
		out.GetBody = b.again
		out.Body, err = b.again()
	}
	return err
}

// Close closes a body that no attempt has been given, or that was closed unread
// in case it was still wanted. An attempt that has its body keeps it.
func (b *Body) Close() {
	if b.shared != nil {
		b.shared.settle()
	}
}
