package group

import (
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// peer is the other end of a connection, written by hand.
type peer struct {
	*link

	mu  sync.Mutex // guards got
	got []frame    // without data
}

// all returns what has arrived of kind.
func (p *peer) all(k kind) (of []frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.got {
		if f.kind == k {
			of = append(of, f)
		}
	}
	return of
}

func newPeer(t *testing.T, conn net.Conn) *peer {
	t.Helper()
	p := &peer{link: newLink(conn)}
	go func() {
		_ = p.run(forever, func(f *frame) error {
			one := *f
			one.data = nil
			p.mu.Lock()
			defer p.mu.Unlock()
			p.got = append(p.got, one)
			return nil
		})
	}()
	return p
}

// memberOf is a member of l that uses the key k, and follows o.
func memberOf(t *testing.T, l *leader, o opening) *peer {
	t.Helper()
	a, b := net.Pipe()
	l.wg.Go(func() { _ = l.serve(b) })
	greeter := newLink(a)
	_, err := greeter.greet(hello{Version: version}, true)
	require.NoError(t, err)
	p := newPeer(t, a)
	t.Cleanup(func() { p.fail(net.ErrClosed) })
	o.Name = "k"
	p.sendJSON(frame{kind: kindOpen}, o)
	return p
}

// leading is a leader before which there was none.
func leading(t *testing.T) *leader {
	t.Helper()
	l := newLeader(false, false)
	t.Cleanup(l.close)
	return l
}

// A new leader admits nothing before the members of the last one have reported what
// they have in flight.
func TestANewLeaderWaitsForTheMembers(t *testing.T) {
	o := opening{Spec: spec{Limits: throttle.Limits{Concurrency: 2}}, Others: 2}
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a := memberOf(t, l, o)
		a.send(&frame{kind: kindCarried})
		a.send(&frame{kind: kindAsk, id: 1})
		a.send(&frame{kind: kindAsk, id: 2})
		synctest.Wait()
		assert.Empty(t, a.all(kindGrant))
		other := memberOf(t, l, opening{Spec: o.Spec})
		other.send(&frame{kind: kindCarried})
		synctest.Wait()
		assert.Empty(t, a.all(kindGrant), "one that is new to the group is not one of those")
		b := memberOf(t, l, o)
		b.send(&frame{kind: kindCarry, id: 1, wait: time.Minute})
		synctest.Wait()
		assert.Empty(t, a.all(kindGrant))
		b.send(&frame{kind: kindCarried})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 1)
		b.send(&frame{kind: kindEnd, id: 1, feedback: adaptive.Feedback{Verdict: adaptive.OK}})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 2)
	})
	synctest.Test(t, func(t *testing.T) {
		a := memberOf(t, leading(t), o)
		a.send(&frame{kind: kindAsk, id: 1})
		time.Sleep(settling - 1)
		synctest.Wait()
		assert.Empty(t, a.all(kindGrant))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 1)
	})
}

// The member that comes first may be new to the group.
func TestALeaderGoesOnFromWhatAnyMemberKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		memberOf(t, l, opening{})
		synctest.Wait()
		memberOf(t, l, opening{Saved: json.RawMessage(`{"law":"measured","version":1,"calls":10}`)})
		synctest.Wait()
		saved, err := l.keys["k"].guard.Save()
		require.NoError(t, err)
		assert.Contains(t, string(saved), `"calls":10`)
	})
}

// The member that comes first may be new to the group, and not know that others have calls
// in flight.
func TestALeaderThatSucceedsWaitsForMembersThatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeader(false, true)
		t.Cleanup(l.close)
		o := opening{Spec: spec{Limits: throttle.Limits{Concurrency: 2}}}
		a := memberOf(t, l, o)
		a.send(&frame{kind: kindCarried})
		a.send(&frame{kind: kindAsk, id: 1})
		a.send(&frame{kind: kindAsk, id: 2})
		b := memberOf(t, l, o)
		b.send(&frame{kind: kindCarry, id: 1})
		b.send(&frame{kind: kindCarried})
		time.Sleep(settling - 1)
		synctest.Wait()
		assert.Empty(t, a.all(kindGrant))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 1, "one slot is in use")
		o.Name = "later"
		a.sendJSON(frame{kind: kindOpen, key: 1}, o)
		a.send(&frame{kind: kindAsk, key: 1, id: 1})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 2)
	})
}

// A new leader goes on from the pause and the closing that the members of the last one
// know, for as long as it is new.
func TestANewLeaderGoesOnFromAPause(t *testing.T) {
	paused := hold{Memory: reopening.Memory{Gate: time.Minute, Asked: time.Minute}, Age: time.Second}
	closed := hold{
		Memory: reopening.Memory{Gate: time.Minute, Pause: time.Minute, Look: time.Minute, Over: time.Hour},
		Cause:  &closing{Hit: &rejection{RetryAfter: time.Hour}}, Age: time.Second,
	}
	for name, c := range map[string]struct {
		hold            hold
		after           time.Duration // the member links to the leader
		waits, refusals bool
	}{
		"a pause":                      {hold: paused, waits: true},
		"a closing":                    {hold: closed, refusals: true},
		"of this leader":               {hold: closed, after: time.Second + 1},
		"of a member that was stopped": {hold: hold{Memory: closed.Memory, Cause: closed.Cause, Age: time.Hour}, after: recalling + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := leading(t)
				a := memberOf(t, l, opening{})
				synctest.Wait()
				time.Sleep(c.after)
				memberOf(t, l, opening{Hold: c.hold})
				synctest.Wait()
				a.send(&frame{kind: kindAsk, id: 1})
				synctest.Wait()
				assert.Len(t, a.all(kindRefuse), map[bool]int{true: 1}[c.refusals])
				assert.Len(t, a.all(kindGrant), map[bool]int{true: 1}[!c.waits && !c.refusals])
				time.Sleep(time.Minute)
				a.send(&frame{kind: kindAsk, id: 2})
				synctest.Wait()
				assert.NotEmpty(t, a.all(kindGrant))
			})
		})
	}
}

// Members know of a pause before the leader can be gone.
func TestAPauseIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a, b := memberOf(t, l, opening{}), memberOf(t, l, opening{})
		for id := range int64(3) {
			a.send(&frame{kind: kindAsk, id: id})
		}
		synctest.Wait()
		before := len(b.all(kindState))
		hit := adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute}
		for id := range int64(2) {
			a.send(&frame{kind: kindEnd, id: id, feedback: hit})
			synctest.Wait()
		}
		assert.Len(t, b.all(kindState), before+1, "the second pause is not longer")
		hit.RetryAfter = time.Hour
		a.send(&frame{kind: kindEnd, id: 2, feedback: hit})
		synctest.Wait()
		assert.Len(t, b.all(kindState), before+2)
	})
}

// What a process that is alone restores is for all members.
func TestTheShareOfWhatIsRestoredAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeader(true, false)
		t.Cleanup(l.close)
		a := memberOf(t, l, opening{Members: 4})
		a.send(&frame{kind: kindRestore, data: []byte(`{"law":"measured","version":1,"calls":10}`)})
		synctest.Wait()
		saved, err := l.keys["k"].guard.Save()
		require.NoError(t, err)
		assert.Contains(t, string(saved), `"calls":2.5`)
	})
}

// A member with more calls in flight than a connection holds unsent reports them all.
func TestManyCallsInFlightAreCarried(t *testing.T) {
	conn, other := net.Pipe()
	l := newLink(conn)
	defer func() { _, _ = conn.Close(), other.Close() }()
	carry := frame{kind: kindCarry, id: 1 << 40, cost: throttle.Cost{Tokens: 1 << 40}, wait: time.Hour}
	for range mostUnsent / 20 {
		l.send(&carry)
	}
	require.Greater(t, len(l.out), mostUnsent)
	l.send(&frame{kind: kindCarried})
	require.NoError(t, l.reason())
	for range mostUnsent / mostFrame * 2 {
		l.send(&frame{kind: kindState, data: make([]byte, mostFrame)})
	}
	assert.ErrorIs(t, l.reason(), errUnread)
}

// What was carried over has no part in the bound once it is written.
func TestTheBoundOfALinkAfterCallsWereCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		l := newPeer(t, a)
		l.send(&frame{kind: kindCarry, id: 1, wait: time.Hour})
		other := newPeer(t, b)
		synctest.Wait()
		assert.Len(t, other.all(kindCarry), 1)
		l.link.mu.Lock()
		assert.Zero(t, l.carried)
		l.link.mu.Unlock()
		l.fail(net.ErrClosed)
		other.fail(net.ErrClosed)
	})
}

// A call beyond the bounds of a member fails with them, and its connection stays.
func TestTheCallsOfAMemberAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		l.most.inFlight = 2
		a := memberOf(t, l, opening{})
		for id := range int64(3) {
			a.send(&frame{kind: kindAsk, id: id})
		}
		synctest.Wait()
		require.NoError(t, a.reason())
		assert.Len(t, a.all(kindGrant), 2)
		assert.Len(t, a.all(kindClosed), 1)
		require.Len(t, a.all(kindRefuse), 1)
		assert.Equal(t, int64(2), a.all(kindRefuse)[0].id)
		a.send(&frame{kind: kindEnd, feedback: adaptive.Feedback{Verdict: adaptive.OK}})
		a.send(&frame{kind: kindAsk, id: 3})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 3)
		a.send(&frame{kind: kindCarry, id: 4})
		synctest.Wait()
		assert.Error(t, a.reason(), "no leader has admitted it")
	})
}

// So are those that wait.
func TestTheWaitingCallsOfAMemberAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := memberOf(t, leading(t), opening{Spec: spec{Limits: throttle.Limits{Concurrency: 1}}})
		for id := range int64(mostWaiting + 2) {
			a.send(&frame{kind: kindAsk, id: id})
		}
		synctest.Wait()
		require.NoError(t, a.reason())
		assert.Len(t, a.all(kindGrant), 1)
		require.Len(t, a.all(kindRefuse), 1)
		assert.Equal(t, int64(mostWaiting+1), a.all(kindRefuse)[0].id)
	})
}

// A member that does not know of a reset would have the next leader go on from what was
// learned before.
func TestAResetIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a, b := memberOf(t, l, opening{}), memberOf(t, l, opening{})
		a.send(&frame{kind: kindRestore, data: []byte(`{"law":"measured","version":1,"calls":10}`)})
		time.Sleep(2 * saving)
		synctest.Wait()
		before := len(b.all(kindState))
		a.send(&frame{kind: kindReset})
		synctest.Wait()
		assert.Len(t, b.all(kindState), before+1)
	})
}

// A connection that says nothing is closed after a second, or before if there are too many.
func TestStrangersThatSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		open := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now())
			_, err := c.Read(make([]byte, 1))
			return isTimeout(err)
		}
		var silent []net.Conn
		for range mostGreeting + 10 {
			a, b := net.Pipe()
			silent = append(silent, a)
			l.wg.Go(func() { _ = l.serve(b) })
			synctest.Wait()
		}
		memberOf(t, l, opening{})
		synctest.Wait()
		assert.Len(t, l.sessions, 1)
		for i, c := range silent {
			assert.Equal(t, i > 10, open(c), i)
		}
		time.Sleep(helloTimeout)
		synctest.Wait()
		for _, c := range silent {
			assert.False(t, open(c))
		}
		assert.Empty(t, l.greeting)
		assert.Len(t, l.sessions, 1)
	})
}

// Decisions are sent to the members that observe, and at most so many in a second.
func TestReportsOfDecisionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a, b := memberOf(t, l, opening{Others: 2, Observes: true}), memberOf(t, l, opening{})
		for _, p := range []*peer{a, b} {
			p.send(&frame{kind: kindCarried})
		}
		synctest.Wait()
		assert.Empty(t, a.all(kindEvent), "that calls are admitted now is no decision")
		for range 100 {
			l.keys["k"].guard.Reopen()
		}
		synctest.Wait()
		assert.Len(t, a.all(kindEvent), mostReports)
		assert.Empty(t, b.all(kindEvent))
		assert.LessOrEqual(t, len(b.all(kindState)), 3+mostReports)
		time.Sleep(saving)
		synctest.Wait()
		l.keys["k"].guard.Reopen()
		synctest.Wait()
		assert.Len(t, a.all(kindEvent), mostReports+1)
	})
}

// What another process calls a decision is one, and within bounds.
func TestADecisionThatIsOdd(t *testing.T) {
	long := strings.Repeat("x", 10*mostText)
	_, ok := (&decision{Kind: event.NodeFinished}).event()
	assert.False(t, ok)
	e, ok := (&decision{Kind: event.LimiterCut, Age: -time.Hour, Wait: -1, Reason: long, Err: long}).event()
	assert.True(t, ok)
	assert.Len(t, e.Reason, mostText)
	assert.Len(t, e.Err.Error(), mostText)
	assert.Zero(t, e.Wait)
	assert.WithinDuration(t, time.Now(), e.Time, time.Minute)
}

// A grant that comes too late is given back, and a wait without a bound gets one.
func TestAnswersThatAreOdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		own, other := newLink(a), newPeer(t, b)
		g := &Group{}
		g.standing.Store(&Stats{})
		s := &seat{group: g, policy: guard.Policy{Name: "k"}, trials: map[int64]trial{}, calls: map[int64]sending{}}
		made, err := guard.New(guard.Policy{Name: "k", Law: s})
		require.NoError(t, err)
		s.inside = hook.Open[interior](made)
		s.attach(own, 0)
		go func() { _ = own.run(forever, func(f *frame) error { return s.handle(own, f) }) }()

		other.send(&frame{kind: kindGrant, id: 77})
		synctest.Wait()
		require.Len(t, other.all(kindEnd), 1)
		assert.Equal(t, int64(77), other.all(kindEnd)[0].id)
		assert.Equal(t, adaptive.Unsent, other.all(kindEnd)[0].feedback.Verdict)

		refused := make(chan error, 1)
		go func() { refused <- made.Try(t.Context(), throttle.Cost{}, nil) }()
		synctest.Wait()
		other.send(&frame{kind: kindRefuse, id: other.all(kindAsk)[0].id, wait: forever / 2})
		limited := new(throttle.LimitedError)
		require.ErrorAs(t, <-refused, &limited)
		assert.Equal(t, 24*time.Hour, limited.RetryAfter)
		own.fail(net.ErrClosed)
		other.fail(net.ErrClosed)
	})
}

// The last closing by the leader counts, also if it is the shorter one: Reset of a
// member ends it.
func TestAClosingReplacesTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		own, other := newLink(a), newPeer(t, b)
		s := &seat{group: &Group{}, policy: guard.Policy{Name: "k"}, trials: map[int64]trial{}, calls: map[int64]sending{}}
		s.group.standing.Store(&Stats{})
		made, err := guard.New(guard.Policy{Name: "k", Law: s})
		require.NoError(t, err)
		s.inside = hook.Open[interior](made)
		s.attach(own, 0)
		go func() { _ = own.run(forever, func(f *frame) error { return s.handle(own, f) }) }()
		var tried sync.WaitGroup
		for range 2 {
			tried.Go(func() { assert.Error(t, made.Try(t.Context(), throttle.Cost{}, nil)) })
		}
		synctest.Wait()
		for i, ask := range other.all(kindAsk) {
			other.sendJSON(frame{kind: kindClosed, id: ask.id}, closing{For: time.Hour - time.Duration(i), Quota: true})
		}
		tried.Wait()
		require.ErrorIs(t, made.Stats().Closed, adaptive.ErrQuotaExhausted)
		s.saved = []byte("{}")
		require.NoError(t, made.Reset())
		assert.NoError(t, made.Stats().Closed)
		assert.Empty(t, s.saved, "the leader may be gone before it reports")
		own.fail(net.ErrClosed)
		other.fail(net.ErrClosed)
	})
}

// A leader that ends refuses nothing: its members find the next one.
func TestALeaderThatEndsClosesNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a := memberOf(t, l, opening{})
		synctest.Wait()
		l.end() // before the connections do
		a.send(&frame{kind: kindAsk, id: 1})
		synctest.Wait()
		assert.Empty(t, a.all(kindClosed))
		assert.Empty(t, a.all(kindRefuse))
		assert.Error(t, a.reason())
	})
}

// A side that neither reads nor writes is given up in time, also when what is sent
// to it waits for room.
func TestASideThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe() // which has no room
		defer func() { _ = b.Close() }()
		begun := time.Now()
		l := newLink(a)
		assert.ErrorIs(t, l.run(leaderSilence, func(*frame) error { return nil }), errSilent)
		assert.Equal(t, leaderSilence, time.Since(begun))
	})
}

// A guard that the leader cannot make, such as one with a preset that only newer
// processes know, fails with the reason. The other guards of the member go on.
func TestAKeyThatTheLeaderCannotMake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := memberOf(t, leading(t), opening{Spec: spec{Preset: "no-such"}})
		a.send(&frame{kind: kindCarried})
		a.send(&frame{kind: kindAsk, id: 1})
		a.sendJSON(frame{kind: kindOpen, key: 1}, opening{Name: "other"})
		a.send(&frame{kind: kindAsk, key: 1, id: 1})
		synctest.Wait()
		require.NoError(t, a.reason())
		assert.Len(t, a.all(kindClosed), 1)
		assert.Len(t, a.all(kindRefuse), 1)
		require.Len(t, a.all(kindGrant), 1)
		assert.Equal(t, uint64(1), a.all(kindGrant)[0].key)
	})
}

// How much one connection can have the leader remember is bounded.
func TestTheKeysOfAMemberAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		a := memberOf(t, l, opening{})
		a.sendJSON(frame{kind: kindOpen, key: 1}, opening{Name: "k"})
		synctest.Wait()
		require.Error(t, a.reason(), "the same key twice")
		assert.Empty(t, l.keys["k"].desks)
	})
	synctest.Test(t, func(t *testing.T) {
		a := memberOf(t, leading(t), opening{Spec: spec{Share: 7}})
		for n := range uint64(mostKeys) {
			require.NoError(t, a.reason())
			a.sendJSON(frame{kind: kindOpen, key: n + 1}, opening{Name: "k", Spec: spec{Share: 7}})
		}
		synctest.Wait()
		assert.Error(t, a.reason())
	})
}

// The limit has room for a call that is larger than the share of a process that is
// alone.
func TestACallThatIsLargerThanAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeader(true, false)
		t.Cleanup(l.close)
		windows := []throttle.Window{throttle.Sliding(100, time.Minute).Of(throttle.Tokens), throttle.Sliding(40, time.Minute).Of(throttle.InputTokens)}
		a := memberOf(t, l, opening{Spec: spec{Limits: throttle.Limits{Windows: windows}}, Members: 4})
		for id := range int64(2) {
			a.send(&frame{kind: kindAsk, id: id + 1, cost: throttle.Cost{Input: 30, Output: 60}})
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 2)
		assert.Empty(t, a.all(kindClosed))
	})
}

// Members are replaced one by one when their policy changes: once all have the new one, it is in force, and what was
// learned stays.
func TestThePolicyOfAllMembersIsInForce(t *testing.T) {
	slots := func(n int) opening {
		return opening{Spec: spec{Limits: throttle.Limits{Concurrency: n}, AIMD: &adaptive.AIMD{Initial: 8}}}
	}
	synctest.Test(t, func(t *testing.T) {
		l := leading(t)
		old := memberOf(t, l, slots(1))
		synctest.Wait()
		k := l.keys["k"]
		in := func() int { return k.guard.Policy().Limits.Concurrency }
		second, third := memberOf(t, l, slots(2)), memberOf(t, l, slots(2))
		synctest.Wait()
		last := memberOf(t, l, slots(3))
		synctest.Wait()
		assert.Equal(t, 1, in(), "one member has it")
		second.send(&frame{kind: kindAsk, id: 1})
		synctest.Wait()
		second.send(&frame{kind: kindEnd, id: 1, feedback: adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}})
		synctest.Wait()
		old.fail(net.ErrClosed)
		synctest.Wait()
		assert.Equal(t, 2, in(), "of those that are left, the first one's")
		assert.Equal(t, 4, k.guard.Stats().View.Concurrency, "what was learned stays")
		second.fail(net.ErrClosed)
		third.fail(net.ErrClosed)
		synctest.Wait()
		assert.Equal(t, 3, in())
		last.fail(net.ErrClosed)
		synctest.Wait()
		assert.Equal(t, 3, in(), "no member has another one")
		memberOf(t, l, slots(4))
		synctest.Wait()
		assert.Equal(t, 4, in())
		k.mu.Lock()
		for d := range k.desks {
			assert.False(t, d.other)
		}
		k.mu.Unlock()
	})
}
