package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// session is a member's connection.
type session struct {
	leader *leader
	link   *link
	own    bool             // the member ends with the leader
	held   atomic.Int64     // calls in flight
	desks  map[uint64]*desk // by the member's number; of the goroutine that reads
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
	s.own = member.Leads && l.most == ofUser()
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
