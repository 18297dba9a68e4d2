package httpclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// tooLongError is what reading a body past its limit gives.
type tooLongError struct {
	field string
	limit int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the body is longer than Config.%s, %d bytes; raise it if that is meant", e.field, e.limit)
}

// uploadTooLong judges a body of known length by that, since net/http sends no more.
func (c *call) uploadTooLong() error {
	if limit := c.client.config.MaxRequest; c.req.Body != nil && c.req.ContentLength > limit {
		return &tooLongError{"MaxRequest", limit}
	}
	return nil
}

// boundUpload holds the body of req, if its length is unknown, to Config.MaxRequest.
func (c *call) boundUpload(req *http.Request) {
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength > 0 {
		return
	}
	limit := c.client.config.MaxRequest
	tooLong := &tooLongError{"MaxRequest", limit}
	bound := func(body io.ReadCloser) io.ReadCloser {
		c.upload.Store(0)
		return &boundBody{ReadCloser: body, left: limit, tooLong: tooLong, count: c}
	}
	req.Body = bound(req.Body)
	if again := req.GetBody; again != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return bound(body), nil
		}
	}
}

// boundBody reads at most left bytes, and one more to see that there are more.
type boundBody struct {
	io.ReadCloser
	left    int64
	tooLong *tooLongError
	count   *call
	closed  atomic.Bool
}

// Close is safe at any time, and more than once.
func (b *boundBody) Close() error {
	if !b.closed.CompareAndSwap(false, true) {
		return nil
	}
	return b.ReadCloser.Close()
}

// freeUpload closes a body that nobody knows the end of when the attempt is over before it: over HTTP/1.1 net/http
// waits for the read that is under way, without any bound.
func (a *attempt) freeUpload() (stop func() bool) {
	b, streams := a.req.Body.(*boundBody)
	if !streams {
		return nil
	}
	return context.AfterFunc(a.req.Context(), func() { _ = b.Close() })
}

func (b *boundBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.tooLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, b.tooLong
	}
	b.count.upload.Add(int64(n))
	return n, err
}
