package proxy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/line"
)

const (
	// grace is how long a call goes on without a client, so that one that timed
	// out can join it: longer than SDKs wait before they send again, 8 s.
	grace = 15 * time.Second
	// mostJoined is how much of an answer is kept. Once it is longer, no other
	// request can join it.
	mostJoined = 1 << 20
	// mostFlights bounds the calls that can be joined.
	mostFlights = 10_000
	// longestKey bounds an Idempotency-Key, in bytes.
	longestKey = 256
)

var errLeft = errors.New("proxy: no client waits for the answer")

// flightKey identifies equal requests of one client.
type flightKey [sha256.Size]byte

// flights are the calls with an Idempotency-Key.
type flights struct {
	clock  *clock.Clock
	memory *memory
	salt   [sha256.Size]byte

	mu      sync.Mutex // guards all below
	known   map[flightKey]*flight
	closing bool
}

func (fs *flights) init(c *clock.Clock, m *memory) {
	fs.clock, fs.memory, fs.known = c, m, map[flightKey]*flight{}
	_, _ = rand.Read(fs.salt[:]) // it never fails
}

// joinable returns the key of a request that can be joined, or can join another.
func (fs *flights) joinable(x *exchange, r *http.Request, client string) (key flightKey, yes bool) {
	sent := r.Header["Idempotency-Key"]
	if len(sent) != 1 || sent[0] == "" || len(sent[0]) > longestKey || x.body.rest != nil || r.Header.Get("Upgrade") != "" {
		return key, false
	}
	h := sha256.New()
	field := func(text string) {
		_, _ = io.WriteString(h, text) // it never fails
		_, _ = h.Write([]byte{0xff})   // which no text of a header has at its end
	}
	_, _ = h.Write(fs.salt[:])
	for _, text := range [...]string{sent[0], client, r.Method, x.to.upstream.name, x.to.path, x.to.query} {
		field(text)
	}
	for _, name := range [...]string{
		"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key",
		"Openai-Organization", "Openai-Project", "Accept", "Content-Type",
	} {
		field(strings.Join(r.Header[name], "\xfe"))
	}
	_, _ = h.Write(x.body.kept)
	return flightKey(h.Sum(nil)), true
}

// board returns the flight of a key, a client aboard, and whether the flight is new.
// It is nil if the request has to be a call of its own.
func (fs *flights) board(key flightKey) (f *flight, c *passenger, first bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f = fs.known[key]; f != nil {
		c = f.join()
		if c == nil {
			f = nil
		}
		return f, c, false
	}
	if len(fs.known) >= mostFlights || fs.closing {
		return nil, nil, false
	}
	f = &flight{flights: fs, key: key, live: http.Header{}, changed: make(chan struct{}), aboard: map[*passenger]struct{}{}}
	fs.known[key] = f
	c = f.join()
	return f, c, true
}

// close ends the calls without a client, now and from now on at once.
func (fs *flights) close() {
	fs.mu.Lock()
	fs.closing = true
	all := slices.Collect(maps.Values(fs.known))
	fs.mu.Unlock()
	for _, f := range all {
		f.land()
	}
}

// flight is a call with its answer, for one client or several. It is the
// ResponseWriter of the call.
type flight struct {
	flights *flights
	key     flightKey
	live    http.Header // of the call alone
	cancel  context.CancelCauseFunc

	mu      sync.Mutex    // guards all below; after that of flights
	changed chan struct{} // closed, and made anew, when something below changes
	status  int           // 0: not yet
	header  http.Header   // as of WriteHeader
	data    []byte
	dropped int   // bytes before data
	taken   int64 // of the memory of the proxy
	long    bool  // the answer is too long to be joined
	ended   bool
	broken  bool // it ended in the middle of the answer
	landed  bool
	aboard  map[*passenger]struct{}
	landing clockwork.Timer // nil: some client is aboard
}

// passenger is a client that waits for the answer, and how much of it is read.
type passenger struct{ read int }

// join adds a client. It returns nil if it could not have all of the answer.
func (f *flight) join() *passenger {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.long || f.broken || f.landed {
		return nil
	}
	if f.landing != nil {
		f.landing.Stop()
		f.landing = nil
	}
	c := new(passenger)
	f.aboard[c] = struct{}{}
	return c
}

// leave removes a client; whole says that it has all of the answer. Without a
// client the call goes on for the time of grace, if it is wanted still.
func (f *flight) leave(c *passenger, whole bool) {
	fs := f.flights
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.aboard, c)
	f.tellLocked() // a call that waits for the slowest client
	if len(f.aboard) == 0 && !whole && !f.long && !fs.closing {
		f.landing = fs.clock.AfterFunc(grace, f.land)
		return
	}
	f.landLocked()
}

// land ends the call, unless a client is aboard.
func (f *flight) land() {
	f.flights.mu.Lock()
	defer f.flights.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.landLocked()
}

// landLocked needs the lock of flights too.
func (f *flight) landLocked() {
	fs := f.flights
	if len(f.aboard) > 0 || f.landed {
		return
	}
	f.landed, f.data = true, nil
	fs.memory.give(f.taken)
	if fs.known[f.key] == f {
		delete(fs.known, f.key)
	}
	f.cancel(errLeft)
	f.tellLocked()
}

// tellLocked wakes all that wait for a change.
func (f *flight) tellLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Header implements http.ResponseWriter.
func (f *flight) Header() http.Header { return f.live }

// WriteHeader implements http.ResponseWriter.
func (f *flight) WriteHeader(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status == 0 && status >= http.StatusOK {
		f.status, f.header = status, f.live.Clone()
		f.tellLocked()
	}
}

// Write implements io.Writer. It waits for the slowest client when the answer is
// too long to be kept.
func (f *flight) Write(p []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takeLocked(len(p))
	if f.long && len(f.aboard) == 0 { // no other client can have it
		f.mu.Unlock()
		f.land()
		f.mu.Lock()
	}
	for f.long && len(f.data)+len(p) > max(int(f.taken), copied) && !f.landed {
		if f.trimLocked() {
			continue
		}
		if len(f.data) == 0 { // a part that is longer than all that is kept
			break
		}
		changed := f.changed
		f.mu.Unlock()
		<-changed // clients read in time, or leave
		f.mu.Lock()
	}
	if f.landed {
		return 0, errLeft
	}
	f.data = append(f.data, p...)
	f.tellLocked()
	return len(p), nil
}

// takeLocked takes the memory for n more bytes. If it may not, the answer is too long.
func (f *flight) takeLocked(n int) {
	if f.long = f.long || len(f.data)+n > mostJoined || !f.flights.memory.take(int64(n)); !f.long {
		f.taken += int64(n)
	}
}

// trimLocked drops what all clients have, and reports whether there was any.
func (f *flight) trimLocked() bool {
	least := f.dropped + len(f.data)
	for c := range f.aboard {
		least = min(least, c.read)
	}
	n := least - f.dropped
	if n > 0 { // clients may be reading the old array
		f.data, f.dropped = append([]byte(nil), f.data[n:]...), least
	}
	return n > 0
}

// end ends the answer.
func (f *flight) end(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.broken = true, broken
	f.tellLocked()
}

// next returns what c has not read, when there is some. whole says that there
// will be no more; broken that there should have been.
func (f *flight) next(ctx context.Context, c *passenger) (p []byte, whole, broken bool) {
	for {
		f.mu.Lock()
		changed := f.changed
		if f.status != 0 {
			p = f.data[c.read-f.dropped:]
		}
		whole, broken = f.ended && !f.broken, f.broken || f.ended && f.status == 0
		f.mu.Unlock()
		if len(p) > 0 || whole || broken {
			return p, whole, broken
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false, true
		}
	}
}

// begun waits for the header of the answer. It reports false if there will be none.
func (f *flight) begun(ctx context.Context) (h http.Header, status int) {
	for {
		f.mu.Lock()
		h, status = f.header, f.status
		changed, ended := f.changed, f.ended
		f.mu.Unlock()
		if status != 0 || ended {
			return h, status
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0
		}
	}
}

// copyTo gives a client the answer, and reports whether it was whole.
func (f *flight) copyTo(ctx context.Context, w http.ResponseWriter, c *passenger) (whole bool) {
	h, status := f.begun(ctx)
	if status == 0 {
		return false
	}
	maps.Copy(w.Header(), h.Clone())
	w.WriteHeader(status)
	flush := http.NewResponseController(w)
	for {
		p, last, broken := f.next(ctx, c)
		if p = p[:min(len(p), copied)]; len(p) > 0 { // more may take longer than a write may
			if _, err := w.Write(p); err != nil || flush.Flush() != nil {
				return false
			}
			f.mu.Lock()
			c.read += len(p)
			if f.long {
				f.tellLocked()
			}
			f.mu.Unlock()
			continue
		}
		if last {
			return true
		}
		if broken {
			return false
		}
	}
}

// join answers a request by the flight of its key, which it starts if there is
// none. It reports false if the request has to be a call of its own.
func (p *Proxy) join(w http.ResponseWriter, r *http.Request, x *exchange, caller line.Caller) bool {
	key, ok := p.flights.joinable(x, r, caller.Client)
	if !ok {
		return false
	}
	f, c, first := p.flights.board(key)
	if f == nil {
		return false
	}
	if first {
		p.start(f, r, x)
	} else {
		x.body.release()
		p.tally.joined()
		w.Header().Set("X-Headrace-Joined", "true")
	}
	whole := false
	defer func() { f.leave(c, whole) }()
	ctx, done := outlast(r.Context(), &p.clock)
	defer done()
	if whole = f.copyTo(ctx, w, c); !whole && ctx.Err() == nil {
		panic(http.ErrAbortHandler) // the client must not take it for all
	}
	return true
}

// start makes the call of a flight. It has a client aboard.
func (p *Proxy) start(f *flight, r *http.Request, x *exchange) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	f.cancel, x.Context = cancel, ctx
	p.work.more()
	go func() {
		defer p.work.leave(0)
		defer cancel(nil)
		defer p.work.also(cancel)()
		broken := true
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is a value of panic
				fail(CodeInternal, "the proxy panicked; this is a bug").write(f, x.to.upstream.dialect)
				broken = false
			}
			f.end(broken)
		}()
		own := r.WithContext(ctx)
		own.Body = http.NoBody // that of the server ends with its handler
		p.send(f, own, x)      //nolint:contextcheck // x is the context
		broken = false
	}()
}
