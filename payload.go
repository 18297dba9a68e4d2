package headrace

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/throttle"
)

// mostPayload is how much of a request's body is looked at: 1 MiB.
const mostPayload = replay.MaxKept

// payload is the body of a request, with what was read in it.
type payload struct {
	replay.Body

	cost  throttle.Cost
	model string
}

// scratch is what a body is read into. It goes back to a pool.
type scratch struct {
	bytes.Buffer

	limit io.LimitedReader
}

// weigh fills in p. What it reads of the body is read from another copy, or kept.
func (t *transport) weigh(req *http.Request, p *payload) (err error) {
	if p.Body, err = replay.Of(req); err != nil {
		return err
	}
	switch kept := p.Kept(); {
	case kept != nil:
		t.estimate(req, kept, p)
	case req.GetBody != nil && req.Body != nil && req.Body != http.NoBody:
		t.peek(req, p)
	default:
		t.estimate(req, nil, p)
	}
	return nil
}

// peek reads a copy of the body, unless it is a file or a form.
func (t *transport) peek(req *http.Request, p *payload) {
	if kind := req.Header.Get("Content-Type"); kind != "" && !strings.Contains(kind, "json") {
		t.estimate(req, nil, p)
		return
	}
	again, err := req.GetBody()
	if err != nil { // whoever sends it again will see
		t.estimate(req, nil, p)
		return
	}
	defer again.Close()
	b, ok := t.scratch.Get().(*scratch)
	if !ok {
		b = new(scratch)
	}
	defer t.scratch.Put(b)
	b.Reset()
	b.limit = io.LimitedReader{R: again, N: mostPayload}
	_, _ = b.ReadFrom(&b.limit) // half a body is enough for an estimate
	b.limit.R = nil
	t.estimate(req, b.Bytes(), p)
}

func (t *transport) estimate(req *http.Request, body []byte, p *payload) {
	p.cost = t.dialect.Estimate(req, body)
	if t.routes.fixed == nil {
		p.model = modelOf(req.URL.Path, body)
	}
}
