package proxy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/internal/panics"
)

const (
	// mostShared bounds the calls that can be joined.
	mostShared = 10_000
	// longestKey bounds an Idempotency-Key, in bytes.
	longestKey = 256
)

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
				p.panicked(ctx, panics.Error(v))
				if broken = s.answered(); !broken {
					p.tally.failed(CodeInternal)
					panicked().write(s, x.to.upstream.dialect)
				}
			}
			s.end(broken)
		}()
		own := r.WithContext(ctx)
		own.Body = http.NoBody // that of the server ends with its handler
		p.send(s, own, x)      //nolint:contextcheck // x is the context
		broken = false
	}()
}
