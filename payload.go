package headrace

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/throttle"
)

// mostPayload is how much of a request's body is looked at: 1 MiB, and of
// mostScanned, 64 MiB, the outermost members, which SDKs may write in any order.
const (
	mostPayload = replay.MaxKept
	mostScanned = 64 << 20
)

// payload is the body of a request, with what was read in it.
type payload struct {
	replay.Body

	cost throttle.Cost
}

// scratch is what a body is read into. It goes back to a pool.
type scratch struct {
	bytes.Buffer

	limit io.LimitedReader
	chunk []byte // of what is behind
}

// weigh finds out what the request will cost and which limiter it passes. A
// short body is kept; a long one is looked at if it can be had again.
func (x *exchange) weigh() (err error) {
	p := &x.payload
	looks := mayBeJSON(x.req.Header)
	x.taken, x.sent.Clock, x.sent.Told = true, &x.t.clock, x.t.writes.Load()
	if p.Body, err = replay.Of(x.req, looks, x.t.resent, &x.sent); err != nil {
		if ctx := x.req.Context(); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	if kept := p.Kept(); kept != nil || !looks {
		return x.look(kept)
	}
	if body := p.Peek(); body != nil {
		return x.peek(body)
	}
	return x.look(nil)
}

// mayBeJSON reports whether a body is worth looking at: not a file or a form.
func mayBeJSON(h http.Header) bool {
	kind := first(h, "Content-Type")
	return kind == "" || strings.Contains(kind, "json")
}

// peek looks at a body that is not kept.
func (x *exchange) peek(body io.Reader) error {
	b, ok := x.t.scratch.Get().(*scratch)
	if !ok {
		b = new(scratch)
	}
	defer x.t.scratch.Put(b)
	b.Reset()
	b.limit = io.LimitedReader{R: body, N: mostPayload}
	_, _ = b.ReadFrom(&b.limit) // half a body is enough for an estimate
	b.limit.R = nil
	if b.Len() < mostPayload || !bytes.HasPrefix(bytes.TrimLeft(b.Bytes(), " \t\r\n\ufeff"), []byte("{")) {
		return x.look(b.Bytes())
	}
	return x.look(b.readTail(body))
}

// readTail reads on behind the head of an object, and returns as much of it as matters.
func (b *scratch) readTail(from io.Reader) []byte {
	if b.chunk == nil {
		b.chunk = make([]byte, 32<<10)
	}
	t := newTail()
	t.walker.Feed(b.Bytes())
	t.behind = true
	for read := int64(mostPayload); !t.over() && read < mostScanned; {
		n, err := from.Read(b.chunk)
		t.walker.Feed(b.chunk[:n])
		if read += int64(n); err != nil {
			break
		}
	}
	return t.join(&b.Buffer)
}

// look keeps nothing of body.
func (x *exchange) look(body []byte) (err error) {
	x.guard, x.dialect, err = x.t.routes.find(x.req, modelOf(x.req.URL.Path, body))
	if err != nil {
		return err
	}
	x.payload.cost = x.dialect.Estimate(x.req, body)
	x.traceModel(body)
	return nil
}
