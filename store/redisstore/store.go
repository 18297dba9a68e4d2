package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/quota"
)

// Store is a quota.Store in Redis. It is safe for concurrent use; any number of processes can share what it keeps.
type Store struct {
	client  Client
	owned   func() error // closes the client; nil: it is not ours
	prefix  string
	group   func(key string) string
	timeout time.Duration
	clock   func() string // the first argument of the script

	program *program

	id    string // of this store, in the tickets
	seq   atomic.Int64
	ahead atomic.Int64 // how far the clock of Redis is ahead, in nanoseconds
	room  chan struct{}

	life context.Context //nolint:containedctx // it ends with Close
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu     sync.Mutex // guards closed, and wg.Add against Close
	closed bool

	calls int           // of a batch; 0: none
	hold  time.Duration // of a batch

	queues   queues
	wakes    wakes
	reclaims reclaims
}

// Option is an option of Open and New.
type Option func(*Store)

// WithPrefix sets the prefix of all keys in Redis. Stores with the same prefix share their limits. The default is
// "headrace:". It must not contain braces.
func WithPrefix(prefix string) Option { return func(s *Store) { s.prefix = prefix } }

// WithTimeout sets how long a command may take before it fails, and a Take from keys of one group with the time that it
// waits to be sent. The default is 1 second.
func WithTimeout(d time.Duration) Option { return func(s *Store) { s.timeout = d } }

// WithGroups distributes keys over the nodes of a cluster: keys for which group returns the same text are on the same
// node. A Take from keys of several groups is not atomic: it reserves in one group after the other, and gives
// everything back if one rejects the call. Meanwhile other calls that would have fit may be rejected; limits are never
// exceeded. By default all keys are in one group, on one node. All processes must use the same groups.
func WithGroups(group func(key string) string) Option { return func(s *Store) { s.group = group } }

// WithBatches makes the store take equal calls in advance, up to the number of calls, and admit calls from them without a request to
// Redis. What is left after hold is given back. No more are taken than were used last time. Requests with a
// concurrency, for a Peek, or for Uses are not taken in advance.
//
// Limits may be exceeded by these calls: in any window by at most calls for each store and request. They are admitted
// for up to hold after another process has set a cooldown. By default no call is taken in advance.
func WithBatches(calls int, hold time.Duration) Option {
	return func(s *Store) { s.calls, s.hold = calls, hold }
}

// Open connects to the server of a URL such as "redis://localhost:6379/0", as redis.ParseURL reads it. It does not
// wait for the server.
func Open(url string, opts ...Option) (*Store, error) {
	o, err := redis.ParseURL(url)
	if u, _ := neturl.Parse(url); err == nil && u.Opaque != "" { // go-redis ignores the host of redis:HOST:PORT, and connects to localhost
		err = errors.New("no slashes")
	}
	if err != nil { // its text may repeat the password
		return nil, &fault.FieldError{Owner: "redisstore", Field: "URL", Problem: "it is not valid: use one such as " +
			"redis://user:password@localhost:6379/0, with special characters of the password escaped"}
	}
	s, err := newStore(opts)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
	// A subscription that is made again has no context, and Close waits for it.
	if o.DialTimeout == 0 {
		o.DialTimeout = s.timeout
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = s.timeout
	}
	c := redis.NewClient(o)
	s.client, s.owned = GoRedis(c), c.Close
	return s, nil
}

// New returns a store that uses a client, such as GoRedis(c). Close does not close the client.
func New(c Client, opts ...Option) (*Store, error) {
	s, err := newStore(opts)
	if c == nil || invalid.Nil(c) {
		p := invalid.Problems{Owner: "redisstore"}
		p.Addf("Client", "it is nil: use GoRedis, or Open")
		err = errors.Join(p.Err(), err)
	}
	if err != nil {
		return nil, err
	}
	s.client = c
	return s, nil
}

// newStore returns a store that has no client yet.
func newStore(opts []Option) (*Store, error) {
	s := &Store{
		prefix: "headrace:", timeout: time.Second,
		clock:   func() string { return "" },
		program: programOf(script), id: rand.Text()[:13], room: make(chan struct{}, mostUnanswered),
	}
	p := invalid.Problems{Owner: "redisstore"}
	invalid.Options(&p, opts, s)
	if strings.ContainsAny(s.prefix, "{}") {
		p.Addf("WithPrefix", "%q contains a brace, which marks the hash tag of a cluster: leave it out", s.prefix)
	}
	if s.timeout <= 0 {
		p.Addf("WithTimeout", "%s is not positive: commands need some time, such as 1s", s.timeout)
	}
	if s.calls < 0 || s.calls > mostMerged {
		p.Addf("WithBatches", "%d calls are not between 0 and %d", s.calls, mostMerged)
	}
	if s.calls > 0 && s.hold <= 0 {
		p.Addf("WithBatches", "a hold of %s is not positive: give how long calls may be kept, such as 100ms", s.hold)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends calls that are in progress with an error, waits for them, and closes a client that Open has made. It may
// be called more than once. Leases stay until they lapse; calls that WithBatches has in advance count as used.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.end(wrap(errClosed))
	s.wg.Wait()
	if first && s.owned != nil {
		return s.owned()
	}
	return nil
}

// begin counts a goroutine that Close has to wait for, unless the store is closed.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Add(1)
	}
	return !s.closed
}

// background runs f in a goroutine that Close waits for; after Close it does not run.
func (s *Store) background(f func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	if !s.begin() {
		close(ended)
		return ended
	}
	go func() {
		defer s.wg.Done()
		defer close(ended)
		f()
	}()
	return ended
}

// tag is the hash tag of a key's group.
func (s *Store) tag(key string) string {
	group := ""
	if s.group != nil {
		group = s.group(key)
	}
	return s.prefix + "{" + digest(s.prefix+"\x00"+group, 9) + "}"
}

// names appends the names of a key: of its value and of its slots.
func names(list []string, tag, key string) []string {
	name := tag + digest(key, 16)
	return append(list, name, name+":s")
}

var _ quota.Store = (*Store)(nil)
