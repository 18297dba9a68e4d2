package httpclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
)

// tooLong checks the length of the body of req, if it is known: net/http sends no more than that.
func (c *call) tooLong(req *http.Request) error {
	if limit := c.client.config.MaxRequest; req.Body != nil && req.ContentLength > limit {
		return &tooLongError{"MaxRequest", limit}
	}
	return nil
}

// boundUpload limits the body and allows closing it at any time. A body in memory neither blocks nor fails; net/http recognises
// it and sends it together with the header.
func (a *attempt) boundUpload() {
	req := a.req
	if req.Body == nil || req.Body == http.NoBody || inMemory(req) {
		return
	}
	length := req.ContentLength
	if length == 0 {
		length = -1 // as net/http has it
	}
	bound := func(body io.ReadCloser) io.ReadCloser {
		a.call.upload.Store(0)
		b := &boundBody{ReadCloser: body, a: a, length: length, left: a.call.client.config.MaxRequest}
		if length >= 0 {
			b.left = length
		}
		return b
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

// inMemory reports whether the body of req is all there, and as long as it says.
func inMemory(req *http.Request) bool {
	var body any = req.Body
	if t := reflect.TypeOf(body); t.PkgPath() == "io" && strings.HasPrefix(t.Name(), "nopCloser") {
		body = reflect.ValueOf(body).Field(0).Interface()
	}
	switch r := body.(type) {
	case *bytes.Reader:
		return int64(r.Len()) == req.ContentLength
	case *bytes.Buffer:
		return int64(r.Len()) == req.ContentLength
	case *strings.Reader:
		return int64(r.Len()) == req.ContentLength
	default:
		return false
	}
}

// boundBody reads at most left bytes, and one more to see that there are more.
type boundBody struct {
	io.ReadCloser
	a      *attempt
	length int64 // as declared; -1: not
	left   int64
	closed atomic.Bool
}

// Close is safe at any time, and more than once.
func (b *boundBody) Close() error {
	if !b.closed.CompareAndSwap(false, true) {
		return nil
	}
	return b.ReadCloser.Close()
}

// freeUpload closes the body when the attempt is cancelled: over HTTP/1.1 net/http waits without bound for a read in progress.
// If the attempt just ends, the rest may still be read: the response came before the whole body was sent.
func (a *attempt) freeUpload() {
	b, bound := a.req.Body.(*boundBody)
	if !bound {
		return
	}
	ctx := a.req.Context()
	context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != errOver { //nolint:errorlint // the bare one
			_ = b.Close()
		}
	})
}

func (b *boundBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.over()
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, b.over()
	}
	b.a.call.upload.Add(int64(n))
	if err == io.EOF && b.length >= 0 && b.left > 0 { //nolint:errorlint // the bare one is the end
		err = fmt.Errorf("the body is %d bytes shorter than Request.ContentLength, %d: %w", b.left, b.length, io.ErrUnexpectedEOF)
	}
	if err != nil && err != io.EOF && !b.closed.Load() && !isA[*tooLongError](err) { //nolint:errorlint // as above
		b.a.own.CompareAndSwap(nil, &ownError{CodeUpload, err})
	}
	return n, err
}

func (b *boundBody) over() error {
	if b.length < 0 {
		return &tooLongError{"MaxRequest", b.a.call.client.config.MaxRequest}
	}
	return fmt.Errorf("the body is longer than Request.ContentLength, %d", b.length)
}
