package providertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Transport returns a round tripper that answers every request, whatever its host, on the caller's goroutine and without a
// socket. It shares limits and ledger with URL. If the context of a request ends, the request fails with the cause; a request
// body that blocks is not interrupted.
//
// Streams, and every answer of a server with Config.Fault, are written on a goroutine that ends with the answer, its body or
// the server. An answer that breaks off fails with io.ErrUnexpectedEOF.
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
	inner, cancel := context.WithCancel(ctx)
	in := out.Clone(inner)
	in.RequestURI = out.URL.RequestURI()
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := newRecorder(cancel, func() error { return context.Cause(ctx) })
	req, to, bad := t.server.readRequest(rec, in)
	run := func() {
		defer cancel()
		rec.record(func() { t.server.handle(rec, in, req, to, bad) })
	}
	if req.Stream || t.server.config.Fault != nil {
		go run()
		<-rec.sent
	} else {
		run()
	}
	res := rec.response(out)
	switch {
	case res != nil:
		return res, nil
	case ctx.Err() != nil: // nothing written: the client is gone
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("providertest: connection cut before the header: %w", io.ErrUnexpectedEOF)
}
