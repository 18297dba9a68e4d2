package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/replay"
)

// A body has to arrive within bodyTime and what its length takes at bodyRate.
const (
	bodyTime = 30 * time.Second
	bodyRate = 16 << 10 // bytes a second
)

// mostMemory bounds the request bodies and answers that are kept, of all requests together.
const mostMemory = 1 << 30

// memory counts what is kept.
type memory struct{ used atomic.Int64 }

// take reports whether there is room for n more bytes, and takes it.
func (m *memory) take(n int64) bool {
	if m.used.Add(n) <= mostMemory {
		return true
	}
	m.used.Add(-n)
	return false
}

// give gives n bytes back.
func (m *memory) give(n int64) { m.used.Add(-n) }

// body is that of a request.
type body struct {
	memory *memory
	taken  int64
	kept   []byte // nil: it is not kept
	rest   io.ReadCloser
	timed  timed
	ready  replay.Ready
	length int64       // of all; -1: it is not known
	slow   atomic.Bool // it did not arrive in time
}

// keep reads a body in advance, so that a slow one takes no place in line, and so
// that it can be sent again.
func (x *exchange) keep(out *answer, r *http.Request) *failure {
	b := &x.body
	b.memory, b.length = &x.proxy.memory, r.ContentLength
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		b.length = 0
		return nil
	}
	b.timed.body, b.timed.of, b.timed.out = r.Body, b, out
	b.rest = &b.timed
	limit := x.proxy.config.MaxBody
	if r.ContentLength > limit {
		return nil // it is sent as it comes
	}
	if r.ContentLength > 0 {
		if !b.memory.take(r.ContentLength) {
			return noMemory()
		}
		b.taken = r.ContentLength
	}
	if r.ContentLength > 0 && r.ContentLength <= replay.MaxKept {
		return b.readShort(&x.proxy.alarms)
	}
	return b.read(limit)
}

func noMemory() *failure {
	f := fail(CodeQueueFull, "the bodies of the requests that wait take %d MiB: send fewer at a time", mostMemory>>20)
	f.retryAfter = time.Second
	return f
}

// readShort keeps a body of a known length.
func (b *body) readShort(alarms *clock.Alarms) *failure {
	kept := make([]byte, b.length)
	if b.timed.fill(kept, alarms) != nil {
		return b.broken()
	}
	b.kept, b.rest = kept, nil
	return nil
}

// read keeps up to limit bytes.
func (b *body) read(limit int64) *failure {
	var kept bytes.Buffer
	for int64(kept.Len()) <= limit {
		n, err := io.CopyN(&kept, b.rest, min(64<<10, limit+1-int64(kept.Len())))
		if more := int64(kept.Len()) - b.taken; more > 0 {
			if !b.memory.take(n) {
				return noMemory()
			}
			b.taken += n
		}
		if err == io.EOF { //nolint:errorlint // io.CopyN returns it as it is
			b.kept, b.length = kept.Bytes(), int64(kept.Len())
			b.rest = nil
			return nil
		}
		if err != nil {
			return b.broken()
		}
	}
	b.rest = &joined{Reader: io.MultiReader(bytes.NewReader(kept.Bytes()), b.rest), Closer: b.rest}
	return nil
}

// failed is the answer for a body that did not arrive in time, or nil.
func (b *body) failed() *failure {
	if !b.slow.Load() {
		return nil
	}
	return fail(CodeSlow, "the body of the request did not arrive within %s and a second for each %d KiB", bodyTime, bodyRate>>10)
}

// broken is the answer for a body that could not be read.
func (b *body) broken() *failure {
	if f := b.failed(); f != nil {
		return f
	}
	return fail(CodeBody, "the body of the request broke off")
}

type joined struct {
	io.Reader
	io.Closer
}

// put has out send the body.
func (b *body) put(out *http.Request) {
	switch {
	case b.kept != nil:
		kept := b.kept
		out.ContentLength, out.TransferEncoding = b.length, nil
		if b.length <= replay.MaxKept {
			b.ready.Init(kept)
			out.Body = &b.ready
			break
		}
		out.Body = io.NopCloser(bytes.NewReader(kept))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept)), nil }
	case b.rest != nil:
		out.Body = b.rest
	default:
		out.Body, out.ContentLength = nil, 0
	}
}

// release gives back the memory.
func (b *body) release() {
	b.memory.give(b.taken)
	b.taken, b.kept = 0, nil
}

// timed is a body that has to arrive in time. What counts is the time that reads
// take: a request may wait in line before its body is read.
type timed struct {
	body io.ReadCloser
	of   *body
	out  *answer
	read int64
	took time.Duration
	set  time.Time // the deadline
	fast filling
}

// filling is a body that is read at once.
type filling struct {
	alarms *clock.Alarms
	alarm  clock.Alarm

	mu    sync.Mutex    // guards what follows
	given time.Duration // when the alarm goes off, from the first Read
	read  int64
	over  bool // it is read
	late  bool // its time was over
}

// fill reads all of p. An alarm costs less than the deadline of a connection, which
// hardly any body needs: most are there with the header.
func (t *timed) fill(p []byte, alarms *clock.Alarms) error {
	f := &t.fast
	f.given, f.alarms, f.alarm.To = bodyTime, alarms, t
	alarms.Set(&f.alarm, f.given)
	n, err, late := 0, error(nil), false
	for n < len(p) && err == nil {
		var more int
		more, err = t.body.Read(p[n:])
		n += more
		f.mu.Lock()
		f.read, f.over = int64(n), n == len(p) || err != nil
		late = f.late
		f.mu.Unlock()
	}
	alarms.Clear(&f.alarm)
	if n == len(p) {
		if late { // it would end what the server reads next
			t.out.readUntil(time.Time{})
		}
		return nil
	}
	if late && errors.Is(err, os.ErrDeadlineExceeded) {
		t.of.slow.Store(true)
	}
	return cmp.Or(err, io.ErrUnexpectedEOF)
}

// Ring ends the Read of a body that is late.
func (t *timed) Ring() {
	f := &t.fast
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over { // just now
		return
	}
	if more := bodyTime + time.Duration(f.read/bodyRate)*time.Second - f.given; more > 0 {
		f.given += more
		f.alarms.Set(&f.alarm, more)
		return
	}
	f.late = true
	t.out.readUntil(time.Now())
}

// Read implements io.Reader.
func (t *timed) Read(p []byte) (int, error) {
	began := time.Now()
	until := began.Add(bodyTime + time.Duration(t.read/bodyRate)*time.Second - t.took)
	if until.Sub(t.set) >= time.Second || t.out.multi {
		t.set = until
		t.out.readUntil(until)
	}
	n, err := t.body.Read(p)
	t.read += int64(n)
	t.took += time.Since(began)
	if err == io.EOF || err == nil && t.out.multi {
		t.out.readUntil(time.Time{}) // a server listens for the end of the connection, or ends a stream that is not read
	} // else the server must not wait for the rest
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.of.slow.Store(true)
	}
	return n, err
}

// Close implements io.Closer.
func (t *timed) Close() error {
	t.out.skip() // net/http reads on
	return t.body.Close()
}
