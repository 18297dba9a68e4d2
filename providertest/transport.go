package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Transport returns a round tripper that answers every request from this server,
// whatever host it names, in the caller's goroutine and without a socket. Limits
// and ledger are those of URL. A request whose context ends fails with the
// context's cause. It does not interrupt a request body that blocks.
func (s *Server) Transport() http.RoundTripper { return transport{server: s} }

type transport struct{ server *Server }

// RoundTrip serves one request in process.
func (t transport) RoundTrip(out *http.Request) (*http.Response, error) {
	if out.Body != nil {
		defer out.Body.Close()
	}
	if out.URL == nil {
		return nil, errors.New("providertest: request without a URL")
	}
	ctx := out.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.server.isClosed() {
		return nil, fmt.Errorf("providertest: %w", http.ErrServerClosed)
	}
	in := out.Clone(ctx)
	in.RequestURI = out.URL.RequestURI()
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := &recorder{header: http.Header{}}
	t.server.serve(rec, in)
	if rec.status == 0 { // nothing written: the client is gone
		return nil, context.Cause(ctx)
	}
	return rec.response(out), nil
}

// recorder is a ResponseWriter that keeps the answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func (r *recorder) response(req *http.Request) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)),
		StatusCode:    r.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        r.header,
		Body:          io.NopCloser(&r.body),
		ContentLength: int64(r.body.Len()),
		Request:       req,
	}
}
