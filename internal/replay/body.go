package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// Bounds on what is kept in memory of bodies without GetBody.
const (
	MaxKept   = 1 << 20  // 1 MiB: up to this length a body is read at once
	MaxResent = 16 << 20 // 16 MiB, the default of what is kept of one while it is sent
)

// attempts gives a body that is not read in advance to one attempt after the other.
type attempts interface {
	next() (io.ReadCloser, error)
	under(ctx context.Context) // sets the context of the next attempts
	replayable() bool
	failed() bool // the body itself has failed
	settle()
}

// Body gives the body of a request to one attempt after the other. It belongs
// to the exchange and is for one goroutine; the bodies that it gives may be read
// and closed by any.
type Body struct {
	kept  []byte     // nil: there is no body, or it has parts
	first keptReader // of what is kept; its upload is that of all
	begun bool       // an attempt has first
	parts attempts   // nil: there is no body, or it is kept
}

// Of takes over the body of req. It is kept, and read here, if its length is
// known and at most MaxKept and either there is no GetBody or whole asks for it.
// Of another one without GetBody, what an attempt reads is kept, up to resent
// bytes, for the next. The error is one of reading, and the body is closed then.
// A body without GetBody may block: a Read ends with the context of the request
// or of the attempt. sent records when attempts read the body; it may be nil. Close b when no attempt will follow.
func Of(req *http.Request, whole bool, resent int64, sent *Upload) (b Body, err error) {
	ready, _ := req.Body.(*Ready)
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return Body{}, nil
	case ready != nil && ready.all != nil:
		return keptBody(ready.all, sent), nil
	case req.ContentLength > 0 && req.ContentLength <= MaxKept && (whole || req.GetBody == nil):
		return keepBody(req, sent)
	case req.GetBody != nil:
		return Body{parts: &shared{body: req.Body, getBody: req.GetBody, sent: sent}}, nil
	}
	r := &recording{from: detach(req.Context(), req.Body), max: resent, sent: sent}
	if req.ContentLength > resent { // it would be kept for nothing
		r.max = 0
	} else {
		r.length = max(0, req.ContentLength)
	}
	return Body{parts: r}, nil
}

func keepBody(req *http.Request, sent *Upload) (Body, error) {
	body := req.Body
	if req.GetBody == nil { // it need not be in memory
		body = detach(req.Context(), body)
	}
	defer body.Close()
	kept := make([]byte, req.ContentLength+1) // one byte too many is reported by what sends it
	n, err := io.ReadFull(body, kept)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Body{}, err
	}
	return keptBody(kept[:n:n], sent), nil
}

// mostAtOnce is how long a body can be of which net/http writes all to the connection
// before the connection makes it wait, more or less: 64 KiB.
const mostAtOnce = 64 << 10

func keptBody(kept []byte, sent *Upload) (b Body) {
	b.kept, b.first.sent = kept, sent
	return b
}

// again returns what is kept for another attempt.
func (b *Body) again() (io.ReadCloser, error) { return b.read(new(keptReader)), nil }

// read has r read what is kept.
func (b *Body) read(r *keptReader) io.ReadCloser {
	sent := b.first.sent
	r.sent = sent
	r.kept.Reset(b.kept)
	if sent == nil || sent.Told && len(b.kept) <= mostAtOnce {
		return io.NopCloser(&r.kept) // net/http knows it, and sends it in one packet with the header
	}
	return r
}

// Ready is a request body that is in memory, as the body of a request that was
// received. It is kept without a copy.
type Ready struct {
	bytes.Reader

	all []byte
}

// Init makes it a body of b, which must not be changed and has at most MaxKept bytes.
func (r *Ready) Init(b []byte) {
	r.all = b
	r.Reset(b)
}

// Close implements io.Closer.
func (*Ready) Close() error { return nil }

// keptReader reads what is kept.
type keptReader struct {
	kept bytes.Reader
	sent *Upload
}

// Read implements io.Reader.
func (r *keptReader) Read(p []byte) (int, error) {
	r.sent.begin()
	defer r.sent.end()
	return r.kept.Read(p)
}

// Close implements io.Closer.
func (*keptReader) Close() error { return nil }

// Kept is the body if it was kept, or nil. It must not be changed.
func (b *Body) Kept() []byte { return b.kept }

// Peek returns the body to be looked at before the first attempt, nil if that
// would lose it, or could wait for a writer. If there is a GetBody, every attempt
// has one of it from then on, which may rewind the body that was looked at.
func (b *Body) Peek() io.Reader {
	switch p := b.parts.(type) {
	case *shared:
		p.looked = true
		return p.body
	case *recording:
		if p.length > 0 {
			return io.LimitReader(p, p.length)
		}
	}
	return nil
}

// Replayable reports whether Next has a body for another attempt. One without
// GetBody can be handed on as long as all that was read of it is kept.
func (b *Body) Replayable() bool { return b.parts == nil || b.parts.replayable() }

// Failed reports whether the body itself has failed while it was read.
func (b *Body) Failed() bool { return b.parts != nil && b.parts.failed() }

// Next puts the body for the next attempt into out, a copy of the request, with
// a GetBody for net/http's own use. The attempt before loses its body, even if it
// is still being read.
func (b *Body) Next(out *http.Request) (err error) {
	switch {
	case b.parts != nil:
		b.parts.under(out.Context())
		out.GetBody = b.parts.next
		out.Body, err = b.parts.next()
	case b.kept != nil:
		out.GetBody = b.again
		if b.begun {
			out.Body, err = b.again()
			return err
		}
		b.begun = true
		out.Body = b.read(&b.first)
	}
	return err
}

// Close closes a body that no attempt has been given, or that was closed in case
// it was still wanted. An attempt that has its body keeps it.
func (b *Body) Close() {
	if b.parts != nil {
		b.parts.settle()
	}
}
