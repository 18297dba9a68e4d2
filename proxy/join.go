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
	// mostShared bounds the calls that can be joined.
	mostShared = 10_000
	// longestKey bounds an Idempotency-Key, in bytes.
	longestKey = 256
)

var errLeft = errors.New("proxy: no client waits for the answer")

// joinKey identifies equal requests of one client.
type joinKey [sha256.Size]byte

// joins are the calls with an Idempotency-Key.
type joins struct {
	clock  *clock.Clock
	memory *memory
	salt   [sha256.Size]byte

	mu      sync.Mutex // guards all below
	known   map[joinKey]*shared
	closing bool
}

func (j *joins) init(c *clock.Clock, m *memory) {
	j.clock, j.memory, j.known = c, m, map[joinKey]*shared{}
	_, _ = rand.Read(j.salt[:]) // it never fails
}

// joinable returns the key of a request that can be joined, or can join another.
func (j *joins) joinable(x *exchange, r *http.Request, client string) (key joinKey, yes bool) {
	sent := r.Header["Idempotency-Key"]
	if len(sent) != 1 || sent[0] == "" || len(sent[0]) > longestKey || x.body.rest != nil || r.Header.Get("Upgrade") != "" {
		return key, false
	}
	h := sha256.New()
	field := func(text string) {
		_, _ = io.WriteString(h, text) // it never fails
		_, _ = h.Write([]byte{0xff})   // which no text of a header has at its end
	}
	_, _ = h.Write(j.salt[:])
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
	return joinKey(h.Sum(nil)), true
}

// share returns the call of a key, a client that reads its answer, and whether the
// call is new. It is nil if the request has to be a call of its own.
func (j *joins) share(key joinKey) (s *shared, c *reader, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s = j.known[key]; s != nil {
		c = s.join()
		if c == nil {
			s = nil
		}
		return s, c, false
	}
	if len(j.known) >= mostShared || j.closing {
		return nil, nil, false
	}
	s = &shared{joins: j, key: key, live: http.Header{}, changed: make(chan struct{}), readers: map[*reader]struct{}{}}
	j.known[key] = s
	c = s.join()
	return s, c, true
}

// close ends the calls without a client, now and from now on at once.
func (j *joins) close() {
	j.mu.Lock()
	j.closing = true
	all := slices.Collect(maps.Values(j.known))
	j.mu.Unlock()
	for _, s := range all {
		s.stop()
	}
}

// shared is a call with its answer, for one client or several. It is the
// ResponseWriter of the call.
type shared struct {
	joins  *joins
	key    joinKey
	live   http.Header // of the call alone
	cancel context.CancelCauseFunc

	mu      sync.Mutex    // guards all below; after that of joins
	changed chan struct{} // closed, and made anew, when something below changes
	status  int           // 0: not yet
	header  http.Header   // as of WriteHeader
	data    []byte
	dropped int   // bytes before data
	taken   int64 // of the memory of the proxy
	long    bool  // the answer is too long to be joined
	ended   bool
	broken  bool // it ended in the middle of the answer
	stopped bool
	readers map[*reader]struct{}
	expiry  clockwork.Timer // nil: some client reads
}

// reader is a client that waits for the answer, and how much of it is read.
type reader struct{ read int }

// join adds a client. It returns nil if it could not have all of the answer.
func (s *shared) join() *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.long || s.broken || s.stopped {
		return nil
	}
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	c := new(reader)
	s.readers[c] = struct{}{}
	return c
}

// leave removes a client; whole says that it has all of the answer. Without a
// client the call goes on for the time of grace, if it is wanted still.
func (s *shared) leave(c *reader, whole bool) {
	j := s.joins
	j.mu.Lock()
	defer j.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, c)
	s.tellLocked() // a call that waits for the slowest client
	if len(s.readers) == 0 && !whole && !s.long && !j.closing {
		s.expiry = j.clock.AfterFunc(grace, s.stop)
		return
	}
	s.stopLocked()
}

// stop ends the call, unless a client reads its answer.
func (s *shared) stop() {
	s.joins.mu.Lock()
	defer s.joins.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked()
}

// stopLocked needs the lock of joins too.
func (s *shared) stopLocked() {
	j := s.joins
	if len(s.readers) > 0 || s.stopped {
		return
	}
	s.stopped, s.data = true, nil
	j.memory.give(s.taken)
	if j.known[s.key] == s {
		delete(j.known, s.key)
	}
	s.cancel(errLeft)
	s.tellLocked()
}

// tellLocked wakes all that wait for a change.
func (s *shared) tellLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Header implements http.ResponseWriter.
func (s *shared) Header() http.Header { return s.live }

// WriteHeader implements http.ResponseWriter.
func (s *shared) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 && status >= http.StatusOK {
		s.status, s.header = status, s.live.Clone()
		s.tellLocked()
	}
}

// Write implements io.Writer. It waits for the slowest client when the answer is
// too long to be kept.
func (s *shared) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeLocked(len(p))
	if s.long && len(s.readers) == 0 { // no other client can have it
		s.mu.Unlock()
		s.stop()
		s.mu.Lock()
	}
	for s.long && len(s.data)+len(p) > max(int(s.taken), copied) && !s.stopped {
		if s.trimLocked() {
			continue
		}
		if len(s.data) == 0 { // a part that is longer than all that is kept
			break
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed // clients read in time, or leave
		s.mu.Lock()
	}
	if s.stopped {
		return 0, errLeft
	}
	s.data = append(s.data, p...)
	s.tellLocked()
	return len(p), nil
}

// takeLocked takes the memory for n more bytes. If it may not, the answer is too long.
func (s *shared) takeLocked(n int) {
	if s.long = s.long || len(s.data)+n > mostJoined || !s.joins.memory.take(int64(n)); !s.long {
		s.taken += int64(n)
	}
}

// trimLocked drops what all clients have, and reports whether there was any.
func (s *shared) trimLocked() bool {
	least := s.dropped + len(s.data)
	for c := range s.readers {
		least = min(least, c.read)
	}
	n := least - s.dropped
	if n > 0 { // clients may be reading the old array
		s.data, s.dropped = append([]byte(nil), s.data[n:]...), least
	}
	return n > 0
}

// end ends the answer.
func (s *shared) end(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.broken = true, broken
	s.tellLocked()
}

// next returns what c has not read, when there is some. whole says that there
// will be no more; broken that there should have been.
func (s *shared) next(ctx context.Context, c *reader) (p []byte, whole, broken bool) {
	for {
		s.mu.Lock()
		changed := s.changed
		if s.status != 0 {
			p = s.data[c.read-s.dropped:]
		}
		whole, broken = s.ended && !s.broken, s.broken || s.ended && s.status == 0
		s.mu.Unlock()
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
func (s *shared) begun(ctx context.Context) (h http.Header, status int) {
	for {
		s.mu.Lock()
		h, status = s.header, s.status
		changed, ended := s.changed, s.ended
		s.mu.Unlock()
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
func (s *shared) copyTo(ctx context.Context, w http.ResponseWriter, c *reader) (whole bool) {
	h, status := s.begun(ctx)
	if status == 0 {
		return false
	}
	maps.Copy(w.Header(), h.Clone())
	w.WriteHeader(status)
	flush := http.NewResponseController(w)
	for {
		p, last, broken := s.next(ctx, c)
		if p = p[:min(len(p), copied)]; len(p) > 0 { // more may take longer than a write may
			if _, err := w.Write(p); err != nil || flush.Flush() != nil {
				return false
			}
			s.mu.Lock()
			c.read += len(p)
			if s.long {
				s.tellLocked()
			}
			s.mu.Unlock()
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

// join answers a request by the call of its key, which it starts if there is
// none. It reports false if the request has to be a call of its own.
func (p *Proxy) join(w http.ResponseWriter, r *http.Request, x *exchange, caller line.Caller) bool {
	key, ok := p.joins.joinable(x, r, caller.Client)
	if !ok {
		return false
	}
	s, c, first := p.joins.share(key)
	if s == nil {
		return false
	}
	if first {
		p.start(s, r, x)
	} else {
		x.body.release()
		p.tally.joined()
		w.Header().Set("X-Headrace-Joined", "true")
	}
	whole := false
	defer func() { s.leave(c, whole) }()
	ctx, done := outlast(r.Context(), &p.clock)
	defer done()
	if whole = s.copyTo(ctx, w, c); !whole && ctx.Err() == nil {
		panic(http.ErrAbortHandler) // the client must not take it for all
	}
	return true
}

// start makes a call that has a client.
func (p *Proxy) start(s *shared, r *http.Request, x *exchange) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	s.cancel, x.Context = cancel, ctx
	p.work.more()
	go func() {
		defer p.work.leave(0)
		defer cancel(nil)
		defer p.work.also(cancel)()
		broken := true
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is a value of panic
				fail(CodeInternal, "the proxy panicked; this is a bug").write(s, x.to.upstream.dialect)
				broken = false
			}
			s.end(broken)
		}()
		own := r.WithContext(ctx)
		own.Body = http.NoBody // that of the server ends with its handler
		p.send(s, own, x)      //nolint:contextcheck // x is the context
		broken = false
	}()
}
