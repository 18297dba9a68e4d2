package httpclient

import (
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// maxDrain and drainFor bound how much of an abandoned body is read: a connection can be reused only after the whole body
	// was read. In a test, all 19 connections of drained refusals were reused, and none of the undrained ones.
	maxDrain = 64 << 10
	drainFor = time.Second
)

// body is the body of an answer, decompressed, with its limits of length and of time.
type body struct {
	from    io.ReadCloser
	a       *attempt
	left    int64
	refused bool       // callers tend to leave the body of this status unread
	mu      sync.Mutex // held during a read; guards left, failed
	failed  error      // for later reads
}

// bounded is the body of resp, within the attempt.
func (a *attempt) bounded(resp *http.Response) io.ReadCloser {
	b := &a.body
	b.from, b.a, b.left = resp.Body, a, a.call.client.config.MaxResponse
	b.refused = resp.StatusCode >= http.StatusMultipleChoices
	return b
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return 0, b.failed
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	b.a.reading.Store(int64(b.a.call.client.watch.now()))
	n, err := b.from.Read(p)
	b.a.reading.Store(0)
	if n > 0 && !b.refused {
		b.a.answers()
	}
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, &tooLongError{"MaxResponse", b.a.call.client.config.MaxResponse}
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the bare one is the end, and one inside of another error is none
		b.failed = err
		b.a.end(nil)
	case err != nil:
		err = b.a.fail(err)
		b.failed = err
	}
	return n, err
}

// Close ends the attempt. It waits for a small rest, up to a second, if that lets the connection be used again.
func (b *body) Close() error {
	if b.refused && b.mu.TryLock() { // a concurrent reader wants it closed at once
		if b.failed == nil && !b.a.over.Load() {
			b.drain()
			b.failed = http.ErrBodyReadAfterClose
		}
		b.mu.Unlock()
	}
	err := b.from.Close()
	b.a.end(nil)
	return err
}

func (b *body) drain() {
	slow := time.AfterFunc(drainFor, func() { b.a.cancel(errOver) })
	defer slow.Stop()
	_, _ = io.CopyN(io.Discard, b.from, maxDrain+1) // one more finds the end of a body of just that length
}
