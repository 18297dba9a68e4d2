package proxy

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	// grace is how long a call goes on without a client, so that one that timed
	// out can join it: longer than SDKs wait before they send again, 8 s.
	grace = 15 * time.Second
	// mostJoined is how much of an answer is kept. Once it is longer, no other
	// request can join it.
	mostJoined = 1 << 20
)

var errLeft = errors.New("proxy: no client waits for the answer")

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
	trailer http.Header   // behind the answer
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

// answered reports whether the answer has begun.
func (s *shared) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status != 0
}

// Write implements io.Writer. It waits for the slowest client when the answer is
// too long to be kept.
func (s *shared) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return 0, errLeft
	}
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

// end ends the answer. What the call has put into its header since WriteHeader are trailers.
func (s *shared) end(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, values := range s.live {
		if _, sent := s.header[name]; !sent && s.status != 0 {
			if s.trailer == nil {
				s.trailer = http.Header{}
			}
			s.trailer[name] = values
		}
	}
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
	if h["Content-Length"] == nil || isStream(h) { // as pass does
		_ = flush.Flush()
	}
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
			s.endTo(w)
			return true
		}
		if broken {
			return false
		}
	}
}

// endTo sends what came behind the answer.
func (s *shared) endTo(w http.ResponseWriter) {
	s.mu.Lock()
	trailer := s.trailer
	s.mu.Unlock()
	if len(trailer) > 0 {
		_ = http.NewResponseController(w).Flush() // as trailers does
		maps.Copy(w.Header(), trailer)
	}
}
