package group

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/reopening"
)

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
