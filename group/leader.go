package group

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// saving is how often members receive what the leader has learned, if it has changed.
const saving = time.Second

// leader admits the calls of all members and learns from them. It has one guard
// for each key. The heads of the members' queues wait in the guard's queue.
type leader struct {
	open  time.Time     // until then it admits nothing; zero: there was no leader before
	alone bool          // it admits the calls of one process, up to its share of each limit
	most  bounds        // of each member
	term  *term         // how long it may lead; nil: it is alone
	calm  time.Duration // how long it waits for the members of the one before
	begun time.Time
	ctx   context.Context //nolint:containedctx // of all that it waits for
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu       sync.Mutex // guards what follows
	keys     map[string]*key
	saved    map[string]kept // what the leader before has kept of other keys
	sessions map[*session]struct{}
	greeting []net.Conn // connections that have not said hello, the oldest first
}

// newLeader begins to lead. succeeds is whether another process may have led before.
func newLeader(alone, succeeds bool) *leader {
	l := &leader{alone: alone, most: ofUser(), calm: settling}
	if succeeds {
		l.open = time.Now().Add(settling)
	}
	return l.begin()
}

func (l *leader) begin() *leader {
	l.begun = time.Now()
	l.keys, l.sessions = map[string]*key{}, map[*session]struct{}{}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.wg.Go(l.publish)
	return l
}

// close ends all sessions, and returns when nothing runs any more.
func (l *leader) close() {
	l.drop()
	l.wg.Wait()
}

// drop ends all sessions. A connection may take seconds to close if its other end does not read.
func (l *leader) drop() {
	l.mu.Lock()
	l.end()
	all := slices.Collect(maps.Keys(l.sessions))
	l.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range all {
		closing.Go(func() { s.link.fail(net.ErrClosed) })
	}
	closing.Wait()
}

// settling is how long a new leader waits for the members of the one before, that
// report what they have in flight, before it admits a call.
const settling = 250 * time.Millisecond

// publish sends what was learned to all members, until the end.
func (l *leader) publish() {
	ticker := time.NewTicker(saving)
	defer ticker.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		maps.DeleteFunc(l.keys, func(_ string, k *key) bool { return k.idle() > forgetting })
		keys := make([]*key, 0, len(l.keys))
		for _, k := range l.keys {
			keys = append(keys, k)
		}
		l.mu.Unlock()
		for _, k := range keys {
			k.mu.Lock()
			k.spent = 0
			k.mu.Unlock()
			k.publish()
		}
	}
}
