package group

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// Bounds of what members may ask for.
const (
	mostName     = 256     // bytes of the name of a key
	mostMembers  = 1 << 10 // connections
	mostGreeting = 1 << 8  // connections that have not said hello
	mostKeys     = 1 << 14
	mostWaiting  = 1 << 12 // calls of one member and key
	mostInFlight = 1 << 20 // calls of one member and key
)

// bounds are what one member can have a leader hold, and send.
type bounds struct {
	keys     int
	waiting  int   // calls of a key; a member of ours waits for one
	inFlight int   // calls of a key
	held     int64 // calls in flight of all keys
	frame    int   // bytes
	unsent   int   // bytes
}

// ofUser are the bounds for a process of the same user.
func ofUser() bounds {
	return bounds{mostKeys, mostWaiting, mostInFlight, mostInFlight, mostFrame, mostUnsent}
}

// saving is how often members receive what the leader has learned, if it has changed.
const saving = time.Second

// interior is what this package uses of a guard that others do not see.
type interior interface {
	Update(f func(now time.Time))
	Close(until time.Time, cause error)
	Open(cause error)
	Closed() (until time.Time)
	Memory() (m reopening.Memory, cause error)
	Remember(m reopening.Memory, cause error)
	Resume()
	Once(c throttle.Cost) *guard.Call
	Patient(c throttle.Cost) *guard.Call
	Adopt(c throttle.Cost, began time.Time) (end func(adaptive.Feedback))
	Signal(h *adaptive.RateLimitHit)
}

// leader admits the calls of all members and learns from them. It has one guard
// for each key. The heads of the members' queues wait in the guard's queue.
type leader struct {
	open  time.Time     // until then it admits nothing; zero: there was no leader before
	alone bool          // it admits the calls of one process, up to its share of each limit
	most  bounds        // of each member
	term  *term         // how long it may lead; nil: until close
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

// key is a limit.
type key struct {
	name   string
	guard  *guard.Guard
	inside interior
	made   time.Time
	share  float64 // of the limit

	setting sync.Mutex // held while the policy changes

	mu    sync.Mutex // guards what follows
	spec  []byte     // that is in force: of the member that came first
	came  int        // members so far
	desks map[*desk]struct{}
	last  []byte    // what members know
	used  time.Time // when a member was there last
	gate  time.Time // the end of the pause that they know
	spent int       // reports between two that are due
	await int       // members of the leader before that have not reported yet what they have in flight
}

// settling is how long a new leader waits for the members of the one before, that
// report what they have in flight, before it admits a call.
const settling = 250 * time.Millisecond

// settle notes that n more members have reported what they have in flight.
func (k *key) settle(n int) {
	k.mu.Lock()
	awaited := k.await > 0
	k.await -= n
	settled := awaited && k.await <= 0
	k.mu.Unlock()
	if settled {
		k.inside.Resume()
	}
}

// recalling is how long a new leader believes what members know of an earlier one.
const recalling = 2 * time.Second

// recall has a new key go on from the pause or closing that a member knows, if that
// is of an earlier leader.
func (k *key) recall(h *hold) {
	age := time.Since(k.made)
	if h.Memory == (reopening.Memory{}) || age > recalling || h.Age < age {
		return
	}
	var cause error
	if h.Cause != nil {
		cause = h.Cause.err(k.name)
	}
	k.inside.Remember(h.Memory, cause)
}

// mostReports bounds how many reports a key sends to a member between two that are due.
const mostReports = 32

// longer is by how much a pause has to become longer for members to receive it at once.
const longer = 100 * time.Millisecond

// Observe implements event.Observer: observers of the members receive what is decided
// here, and members at once that the provider has paused, closed or reopened the key,
// because they may have to go on from that.
func (k *key) Observe(e event.Event) {
	hit := e.Kind == event.LimiterHit // of which the member has sent an event
	if !hit && !decides(e.Kind) {
		return
	}
	k.mu.Lock()
	if hit && e.Time.Add(e.Wait).Sub(k.gate) <= longer || k.spent >= mostReports {
		k.mu.Unlock()
		return
	}
	k.spent++
	if !hit {
		news := decisionOf(&e)
		for d := range k.desks {
			if d.observes {
				d.session.link.sendJSON(frame{kind: kindEvent, key: d.number}, news)
			}
		}
	}
	k.mu.Unlock()
	if hit || e.Kind == event.LimiterClosed || e.Kind == event.LimiterReopened {
		k.publish()
	}
}

// key returns the one of that name, made if it is new.
func (l *leader) key(o *opening) (k *key, err error) {
	if o.Name == "" || len(o.Name) > mostName {
		return nil, fmt.Errorf("%w: a key of %d bytes", errFrame, len(o.Name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.keys[o.Name]; known != nil {
		known.touch()
		return known, nil
	}
	if len(l.keys) >= mostKeys && !l.forgetLocked(recalling) {
		return nil, fmt.Errorf("group: more than %d keys", mostKeys)
	}
	now := time.Now()
	k = &key{name: o.Name, made: now, used: now, share: l.share(o), desks: map[*desk]struct{}{}}
	last, saved := l.saved[o.Name], o.Saved
	if len(last.Saved) > 0 {
		saved = last.Saved
	}
	g, err := o.Spec.make(o.Name, k.share, saved, k)
	if err != nil {
		return nil, err
	}
	k.guard, k.inside = g, hook.Open[interior](g)
	k.spec, _ = json.Marshal(o.Spec) //nolint:errchkjson // it was read as JSON
	l.keys[o.Name] = k
	switch k.await = min(o.Others, mostMembers); {
	case l.alone:
	case k.await > 0:
		g.Pause(k.made.Add(l.calm))
	case l.open.After(k.made): // the member is new to the group, and does not know of others
		k.await = mostMembers + 1
		g.Pause(l.open)
	}
	if before := last.Hold; before != (hold{}) {
		before = before.after(now.Sub(l.begun))
		before.Age = recalling // it is of another leader
		k.recall(&before)
	}
	delete(l.saved, o.Name)
	return k, nil
}

// touch notes that k is in use.
func (k *key) touch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = time.Now()
}

// idle returns for how long no member has used k.
func (k *key) idle() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.desks) > 0 {
		return 0
	}
	return time.Since(k.used)
}

// forgetting is how long a leader remembers a key that no member uses.
const forgetting = 24 * time.Hour

// forgetLocked forgets the key that was not used for the longest time, if that is longer than d.
// A call of a member that has vanished may hold a slot of it until then.
func (l *leader) forgetLocked(d time.Duration) bool {
	var oldest *key
	for _, k := range l.keys {
		if idle := k.idle(); idle > d {
			oldest, d = k, idle
		}
	}
	if oldest == nil {
		return false
	}
	delete(l.keys, oldest.name)
	return true
}

// enter notes that a member uses k at d; false if it does so elsewhere.
func (k *key) enter(d *desk) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for o := range k.desks {
		if o.session == d.session {
			return false
		}
	}
	k.came++
	d.came, d.other = k.came, !bytes.Equal(d.text, k.spec)
	k.desks[d] = struct{}{}
	k.last = nil
	return true
}

// agree puts the policy of the member that came first in force, if no member has the one in
// force any more: members are replaced one by one when theirs changes.
func (k *key) agree() {
	k.setting.Lock()
	defer k.setting.Unlock()
	k.mu.Lock()
	var first *desk
	for d := range k.desks {
		if bytes.Equal(d.text, k.spec) {
			first = nil
			break
		}
		if first == nil || d.came < first.came {
			first = d
		}
	}
	k.mu.Unlock()
	if first == nil || k.guard.Set(first.spec.policy(k.name, k.share)) != nil {
		return // the member has checked it, with the presets that it knows
	}
	k.mu.Lock()
	k.spec, k.last = first.text, nil
	for d := range k.desks {
		d.other = !bytes.Equal(d.text, k.spec)
	}
	k.mu.Unlock()
}

// share is the part of a limit that the calls here may use.
func (l *leader) share(o *opening) float64 {
	if l.alone && o.Members > 1 {
		return 1 / float64(min(o.Members, mostMembers))
	}
	return 1
}

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

// publish sends what was learned to all members that use k, if it is news.
func (k *key) publish() {
	v := k.guard.Stats().View
	s := stateOf(&v)
	s.Saved, _ = k.guard.Save() // without it the next leader starts anew
	s.Hold = k.hold()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gate = v.GateUntil
	s.Members = len(k.desks)
	for d := range k.desks {
		if !d.session.own {
			s.Others++
		}
	}
	news, _ := json.Marshal(s) //nolint:errchkjson // it is ours
	if bytes.Equal(news, k.last) {
		return
	}
	k.last = news
	for d := range k.desks {
		s.Other = d.other
		d.session.link.sendJSON(frame{kind: kindState, key: d.number}, s)
	}
}

// hold is what holds back all calls now.
func (k *key) hold() (h hold) {
	m, cause := k.inside.Memory()
	if h.Memory = m; cause != nil {
		c := closingOf(cause, m.Look)
		h.Cause = &c
	}
	return h
}

// session is a member's connection.
type session struct {
	leader *leader
	link   *link
	own    bool             // the member ends with the leader
	held   atomic.Int64     // calls in flight
	desks  map[uint64]*desk // by the member's number; of the goroutine that reads
}

// greets notes that a connection has yet to say hello. Of too many the oldest is closed: a
// member says it at once.
func (l *leader) greets(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.greeting) >= mostGreeting {
		_ = l.greeting[0].Close() // it gets no reason
		l.greeting = slices.Delete(l.greeting, 0, 1)
	}
	l.greeting = append(l.greeting, conn)
}

func (l *leader) greeted(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greeting = slices.DeleteFunc(l.greeting, func(c net.Conn) bool { return c == conn })
}

// serve serves one member until its connection ends, and frees what it holds.
func (l *leader) serve(conn net.Conn) error {
	s := &session{leader: l, link: newLink(conn), desks: map[uint64]*desk{}}
	s.link.most, s.link.unsent = l.most.frame, l.most.unsent
	l.greets(conn)
	member, err := s.link.greet(hello{Version: version, PID: os.Getpid()}, false)
	l.greeted(conn)
	if err != nil {
		_ = conn.Close() // the error is that of the greeting
		return err
	}
	s.own = member.Leads && l.term == nil
	l.mu.Lock()
	full := len(l.sessions) >= mostMembers
	if !full {
		l.sessions[s] = struct{}{}
	}
	l.mu.Unlock()
	if full || l.ctx.Err() != nil {
		s.link.fail(fmt.Errorf("group: more than %d members", mostMembers))
	}
	err = s.link.run(memberSilence, s.handle)
	l.mu.Lock()
	delete(l.sessions, s)
	l.mu.Unlock()
	for _, d := range s.desks {
		d.leave()
	}
	return err
}

// handle does what a member asks for.
func (s *session) handle(f *frame) error {
	switch f.kind {
	case kindPing:
		return nil
	case kindOpen:
		return s.open(f)
	default:
	}
	d := s.desks[f.key]
	if d == nil {
		return fmt.Errorf("%w: key %d was not opened", errFrame, f.key)
	}
	if d.failed != nil {
		if f.kind == kindAsk {
			d.refuse(f.id, d.failed)
		}
		return nil
	}
	switch f.kind {
	case kindAsk:
		return d.ask(f)
	case kindEnd:
		d.take(f.id, true).conclude(f.feedback)
	case kindWithdraw:
		d.withdraw(f.id)
	case kindCarry:
		return d.carry(f)
	case kindCarried:
		if d.follows {
			d.follows = false
			d.key.settle(1)
		}
	case kindMeters:
		d.meters(f)
	case kindSignal:
		d.key.inside.Signal(&adaptive.RateLimitHit{
			Kind: f.feedback.Kind, RetryAfter: f.feedback.RetryAfter, Source: f.feedback.Source, SentAt: time.Now().Add(-min(max(0, f.wait), longestCall)),
		})
	case kindReopen:
		d.key.guard.Reopen()
	case kindReset:
		_ = d.key.guard.Reset() // its law has started before
		d.key.publish()         // or a member would have the next leader know it
	case kindRestore:
		d.restore(f.data)
	default:
		return fmt.Errorf("%w: kind %d is for members", errFrame, f.kind)
	}
	return nil
}

func (s *session) open(f *frame) error {
	var o opening
	if err := json.Unmarshal(f.data, &o); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	if s.desks[f.key] != nil {
		return fmt.Errorf("%w: key %d is open", errFrame, f.key)
	}
	if len(s.desks) >= s.leader.most.keys {
		return fmt.Errorf("%w: a member has %d keys", errFrame, s.leader.most.keys)
	}
	k, err := s.leader.key(&o)
	if errors.Is(err, errFrame) {
		return err
	}
	d := &desk{session: s, key: k, number: f.key, observes: o.Observes, spec: o.Spec, follows: o.Others > 0, failed: err, waiting: map[int64]context.CancelFunc{}, calls: map[int64]held{}}
	s.desks[f.key] = d
	if err != nil {
		return nil //nolint:nilerr // the calls of this guard fail with it, and no others
	}
	own, _ := json.Marshal(o.Spec) //nolint:errchkjson // it was read as JSON
	d.text = own
	if !k.enter(d) {
		return fmt.Errorf("%w: key %q is open", errFrame, k.name)
	}
	k.agree()
	if !s.leader.alone {
		d.restore(o.Saved) // the member that came first may be new to the group
	}
	k.recall(&o.Hold)
	k.publish()
	return nil
}
