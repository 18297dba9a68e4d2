package proxy

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// writeTime is how long a client may take to read what is written to it at a time.
const writeTime = time.Minute

// answer is a ResponseWriter with deadlines for writes. It sets the deadlines of reads
// as well.
type answer struct {
	http.ResponseWriter

	control http.ResponseController
	multi   bool      // a deadline ends the stream even if nothing is written
	renewed bool      // the server sets a deadline for each request
	set     time.Time // when the last deadline was set
	begun   bool      // something of the answer may have been sent

	mu      sync.Mutex // guards what follows: a body may be read on another goroutine
	bounded bool       // reads have had a deadline, or need none
	ended   bool       // the connection is not that of this request any more
}

func (a *answer) init(w http.ResponseWriter, r *http.Request, now time.Time) {
	a.ResponseWriter, a.control, a.multi = w, *http.NewResponseController(w), r.ProtoMajor >= 2
	a.bounded = a.multi || r.ContentLength == 0
	limit := time.Duration(0)
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		limit = s.WriteTimeout
		a.renewed = limit > 0
	}
	switch {
	case a.renewed && a.multi:
		a.clear()
	case limit == writeTime:
		a.set = now // by the server, for this request
	}
}

// bound sets the deadline of a write.
func (a *answer) bound() {
	if now := time.Now(); now.Sub(a.set) > writeTime/4 {
		a.set = now
		_ = a.control.SetWriteDeadline(now.Add(writeTime)) // a recorder has none
	}
}

func (a *answer) clear() {
	a.set = time.Time{}
	_ = a.control.SetWriteDeadline(time.Time{})
}

// readUntil sets the deadline of reads; zero is none.
func (a *answer) readUntil(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.bounded = true
		_ = a.control.SetReadDeadline(at) // a recorder has none
	}
}

// skip bounds how long the server waits for a body that is not wanted, before it
// sends the answer. It ends a stream of HTTP/2 without the body.
func (a *answer) skip() {
	a.mu.Lock()
	bounded := a.bounded
	a.mu.Unlock()
	if !bounded {
		a.readUntil(time.Now().Add(headerTime))
	}
}

// end is for what the server writes behind the handler.
func (a *answer) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	switch {
	case a.renewed && !a.multi:
		a.bound()
	case !a.set.IsZero():
		a.clear() // the deadline would be that of the next request too
	}
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begun = a.begun || status >= http.StatusOK || status == http.StatusSwitchingProtocols
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	a.begun = true
	a.bound()
	if a.multi {
		defer a.clear()
	}
	return a.ResponseWriter.Write(p)
}

// FlushError is called by http.ResponseController.
func (a *answer) FlushError() error {
	a.begun = true
	a.bound()
	if a.multi {
		defer a.clear()
	}
	return a.control.Flush()
}

// Hijack implements http.Hijacker.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.begun = true
	a.clear()
	_ = a.control.SetReadDeadline(time.Time{})
	return a.control.Hijack()
}

// said are the values of the headers that say how long a request has waited, in
// seconds, and how often it was sent.
type said struct{ waited, attempts [1]string }

func (s *said) put(h http.Header, waited time.Duration, attempts int) {
	s.waited[0], s.attempts[0] = "0.000", strconv.Itoa(attempts)
	if waited >= time.Millisecond/2 {
		s.waited[0] = strconv.FormatFloat(waited.Seconds(), 'f', 3, 64)
	}
	h["X-Headrace-Waited"], h["X-Headrace-Attempts"] = s.waited[:], s.attempts[:]
}
