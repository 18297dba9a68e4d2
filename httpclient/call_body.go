package httpclient

import (
	"io"

	"github.com/headrace/headrace/internal/ended"
)

// callBody ends the call when its body ends, wherever that came from.
type callBody struct {
	io.ReadCloser
	call *call
}

func (b *callBody) Read(p []byte) (int, error) {
	n, err := b.call.receive(b.ReadCloser.Read(p))
	switch {
	case err == io.EOF: //nolint:errorlint // the bare one is the end; an *Error may have it for its cause
		b.call.end(nil)
	case err != nil:
		b.call.end(err)
	}
	return n, err
}

func (b *callBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.end(nil)
	return err
}

// receive counts what was read of an answer's body, holds one that did not come from the wire to Config.MaxResponse,
// and gives an error its type.
func (c *call) receive(n int, err error) (int, error) {
	limit := c.client.config.MaxResponse
	if over := c.received.Add(int64(n)) - limit; over > 0 {
		c.received.Add(-over)
		n, err = n-int(over), &tooLongError{"MaxResponse", limit}
	}
	if err == nil || err == io.EOF || isA[*Error](err) { //nolint:errorlint // the bare EOF is the end
		return n, err
	}
	if ctx := c.req.Context(); ctx.Err() != nil {
		return n, c.fail(CodeCanceled, PhaseBody, ended.Cause(ctx), nil)
	}
	return n, c.fail(classify(PhaseBody, err), PhaseBody, err, nil)
}
