package providertest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// recorder is a ResponseWriter with an answer that can be read while it is written. It buffers what has not been read.
type recorder struct {
	header http.Header  // the handler's
	cancel func()       // stops the handler when the answer is no longer read
	cause  func() error // why the client gave up; nil if it did not

	sent chan struct{} // closed when the header is on its way, or never will be
	more chan struct{} // holds a token when there is news for Read

	mu     sync.Mutex // guards all below
	out    http.Header
	status int
	body   bytes.Buffer
	ended  bool
	err    error // that Read ends with
}

func newRecorder(cancel func(), cause func() error) *recorder {
	return &recorder{
		header: http.Header{}, cancel: cancel, cause: cause,
		sent: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// record runs a handler and ends the answer with it.
func (r *recorder) record(handler func()) {
	err := io.ErrUnexpectedEOF // of a handler that panics
	defer func() {
		cut := recover()
		if cause := r.cause(); cause != nil && err != io.EOF { //nolint:errorlint // the two of this function
			err = cause
		}
		r.mu.Lock()
		r.ended, r.err = true, err
		r.mu.Unlock()
		r.Flush()
		if cut != nil && cut != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
			panic(cut)
		}
	}()
	handler()
	err = io.EOF
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status, r.out = status, r.header.Clone()
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Write(p)
}

// Flush lets the reader have what was written.
func (r *recorder) Flush() {
	select {
	case <-r.sent:
	default:
		close(r.sent)
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// Read blocks until there is something to read, or the handler has ended.
func (r *recorder) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		n, ended, err := 0, r.ended, r.err
		if r.body.Len() > 0 {
			n, _ = r.body.Read(p)
		}
		r.mu.Unlock()
		switch {
		case n > 0 || len(p) == 0:
			return n, nil
		case ended:
			return 0, err
		}
		<-r.more
	}
}

// Close ends the handler if it is still at work.
func (r *recorder) Close() error {
	r.cancel()
	return nil
}

// response returns the answer, or nil if the handler has not written one.
func (r *recorder) response(req *http.Request) *http.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		return nil
	}
	length := int64(-1)
	if n, err := strconv.ParseInt(r.out.Get("Content-Length"), 10, 64); err == nil {
		length = n
	} else if r.ended {
		length = int64(r.body.Len())
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)),
		StatusCode:    r.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        r.out,
		Body:          r,
		ContentLength: length,
		Request:       req,
	}
}
