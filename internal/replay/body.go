package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// MaxKept is how long a body may be that is kept because nobody else can give
// it again: 1 MiB.
const MaxKept = 1 << 20

// errUsed is what sending a body that can be had once only a second time gives.
var errUsed = errors.New("replay: the body can be read once only; set GetBody, or a ContentLength of at most 1 MiB")

// Body gives the body of a request to one attempt after the other. It is the
// exchange's own, and for one goroutine; what it gives may be read and closed by any.
type Body struct {
	first io.ReadCloser                 // for the first attempt; nil: handed over
	again func() (io.ReadCloser, error) // for the others
	kept  []byte                        // what again reads, if it is ours
	once  io.ReadCloser                 // in place of all these: it can be read once only
	last  *handle                       // the last one of once; nil: it has not been handed over
}

// Of takes the body of req over. It is read here if it has to be kept: its
// length is known and at most MaxKept, and there is no GetBody. An error is one
// of reading, and the body is closed then. Close b when no attempt will follow.
func Of(req *http.Request) (b Body, err error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return Body{}, nil
	case req.GetBody != nil:
		return Body{first: req.Body, again: req.GetBody}, nil
	case req.ContentLength > 0 && req.ContentLength <= MaxKept:
		return keepBody(req)
	default:
		return Body{once: req.Body}, nil
	}
}

func keepBody(req *http.Request) (Body, error) {
	defer req.Body.Close()
	kept := bytes.NewBuffer(make([]byte, 0, req.ContentLength+bytes.MinRead))
	if _, err := kept.ReadFrom(io.LimitReader(req.Body, req.ContentLength+1)); err != nil { // one too many is found out by who sends
		return Body{}, err
	}
	b := Body{kept: kept.Bytes()}
	b.again = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.kept)), nil }
	return b, nil
}

// Kept is the body if it was kept, or nil. Change nothing in it.
func (b *Body) Kept() []byte { return b.kept }

// Replayable reports whether Next has a body for one more attempt. One that
// can be read once only can be handed on as long as nobody has read of it.
func (b *Body) Replayable() bool {
	return b.once == nil || b.last == nil || !b.last.wasRead()
}

// Next puts the body for the next attempt into out, a copy of the request, and
// GetBody where the body can be had again, for net/http's own use. No attempt may be under way.
func (b *Body) Next(out *http.Request) (err error) {
	switch {
	case b.once != nil:
		out.Body, err = b.handOver()
	case b.first != nil:
		out.Body, b.first = b.first, nil
	case b.again != nil:
		out.GetBody = b.again
		out.Body, err = b.again()
	}
	return err
}

// Close closes what nobody was given, or what was closed unread in case it was
// still wanted. An attempt that has its body keeps it.
func (b *Body) Close() {
	switch {
	case b.first != nil:
		_ = b.first.Close() // nobody is left to hear of it
	case b.once != nil && b.last == nil:
		_ = b.once.Close()
	case b.last != nil:
		b.last.settle()
	}
	b.first = nil
}
