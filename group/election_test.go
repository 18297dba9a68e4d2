package group

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// votes is an Election in memory.
type votes struct {
	mu     sync.Mutex // guards what follows
	down   error
	hangs  bool
	holder string
	token  int64
	until  time.Time
	saved  []byte
}

func (v *votes) call(ctx context.Context, f func()) error {
	v.mu.Lock()
	hangs := v.hangs
	v.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down == nil {
		f()
	}
	return v.down
}

func (v *votes) Acquire(ctx context.Context, candidate string, d time.Duration) (token int64, leader string, saved []byte, err error) {
	err = v.call(ctx, func() {
		if now := time.Now(); v.holder != candidate && now.Before(v.until) {
			leader = v.holder
		} else {
			v.token++
			v.holder, v.until = candidate, now.Add(d)
			token, saved = v.token, v.saved
		}
	})
	return token, leader, saved, err
}

func (v *votes) Renew(ctx context.Context, token int64, d time.Duration, saved []byte) (held bool, err error) {
	err = v.call(ctx, func() {
		now := time.Now()
		if held = token == v.token && now.Before(v.until); held {
			v.until = now.Add(d)
			if saved != nil {
				v.saved = saved
			}
		}
	})
	return held, err
}

func (v *votes) Release(ctx context.Context, token int64) error {
	return v.call(ctx, func() {
		if token == v.token {
			v.until = time.Time{}
		}
	})
}

func (v *votes) set(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

func leads(h *replicaIn) bool { return h.Stats().Role == Leading }

// pair is two replicas, of which the first leads.
func pair(t *testing.T, v *votes) (a, b *replicaIn) {
	t.Helper()
	a = newReplica(t, "a.example.com", v)
	synctest.Wait()
	b = newReplica(t, "b.example.com", v)
	time.Sleep(time.Second)
	require.True(t, leads(a))
	require.Equal(t, Following, b.Stats().Role)
	require.Equal(t, a.url.String(), b.Stats().Address)
	return a, b
}

func noCall(context.Context) error { return nil }

// A replica that does not lead names the one that does, so that one address is enough.
func TestAReplicaNamesTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, &votes{})
		g := joining(t, b, a)
		synctest.Wait()
		assert.Equal(t, Following, g.Stats().Role)
		assert.Equal(t, "https://a.example.com", g.Stats().Address)
		assert.Contains(t, g.Stats().String(), " at https://a.example.com")
		assert.Equal(t, 1, a.Stats().Members)
		assert.Zero(t, b.Stats().Members)
	})
}

// The next leader goes on from what the last one kept, although no member knows it.
func TestTheNextReplicaGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &votes{}
		a, b := pair(t, v)
		g := joining(t, a, b)
		p := guard.Policy{Name: "k", Law: adaptive.AIMD{Initial: 8}}
		one, err := g.Guard(p)
		require.NoError(t, err)
		call := one.Begin(throttle.Cost{})
		_, err = call.Admit(t.Context())
		require.NoError(t, err)
		_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 5 * time.Minute})
		time.Sleep(saving + renewEvery)
		g.Close()
		a.stop()
		time.Sleep(time.Second)
		require.True(t, leads(b), "a leader that is closed gives up its lease")

		other, err := joining(t, b).Guard(p)
		require.NoError(t, err)
		time.Sleep(time.Second)
		assert.Equal(t, 4, other.Stats().View.Concurrency)
		assert.ErrorIs(t, other.Try(t.Context(), throttle.Cost{}, noCall), throttle.ErrLimited, "the provider has asked for a pause")
	})
}

// slowKey is a key of which it takes long to say what holds it back.
type slowKey struct {
	interior

	until <-chan struct{}
}

func (k slowKey) Memory() (m reopening.Memory, cause error) {
	<-k.until
	return m, nil
}

// The lease is renewed while the leader puts together what it keeps, which takes long with many keys.
func TestTheLeaseDoesNotWaitForWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, &votes{})
		release := make(chan struct{})
		l := a.standing.Load().leader
		l.mu.Lock()
		l.keys["slow"] = &key{name: "slow", used: time.Now(), guard: guardOf(t), inside: slowKey{until: release}}
		l.mu.Unlock()
		time.Sleep(3 * leaseFor)
		assert.Same(t, l, a.standing.Load().leader)
		assert.False(t, leads(b))
		close(release)
	})
}

func guardOf(t *testing.T) *guard.Guard {
	t.Helper()
	g, err := guard.New(guard.Policy{Name: "slow"})
	require.NoError(t, err)
	return g
}

// A leader that cannot renew its lease admits no call when another replica can.
func TestALeaderWithoutARenewalStopsInTime(t *testing.T) {
	for name, fail := range map[string]func(*votes){
		"down":  func(v *votes) { v.down = errors.New("no connection") },
		"hangs": func(v *votes) { v.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &votes{}
				a, b := pair(t, v)
				g := joining(t, a, b)
				one, err := g.Guard(guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 4}})
				require.NoError(t, err)
				require.NoError(t, one.Do(t.Context(), throttle.Cost{}, noCall))
				v.set(func() { fail(v) })
				l := a.standing.Load().leader
				lapses := v.until
				for leads(a) {
					time.Sleep(10 * time.Millisecond)
				}
				assert.LessOrEqual(t, time.Now(), lapses.Add(renewEvery-leaseMargin))
				assert.True(t, l.term.over(time.Now()))
				time.Sleep(3 * time.Second)
				assert.Equal(t, Alone, g.Stats().Role)
				require.NoError(t, one.Do(t.Context(), throttle.Cost{}, noCall), "members have their shares")
				v.set(func() { v.down, v.hangs = nil, false })
				time.Sleep(leaseFor + time.Second)
				assert.Equal(t, Following, g.Stats().Role)
				require.NoError(t, one.Do(t.Context(), throttle.Cost{}, noCall))
			})
		})
	}
}

// However late its goroutines run, such as after the process was stopped, a leader admits no call past its term.
func TestNoCallIsAdmittedPastTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServiceLeader(nil)
		t.Cleanup(l.close)
		time.Sleep(time.Second)
		o := opening{Spec: spec{Limits: throttle.Limits{Concurrency: 1}}}
		a, b := memberOf(t, l, o), memberOf(t, l, o)
		a.send(&frame{kind: kindAsk, id: 1})
		synctest.Wait()
		b.send(&frame{kind: kindAsk, id: 1})
		synctest.Wait()
		require.Len(t, a.all(kindGrant), 1)
		l.term.extend(time.Now())
		a.send(&frame{kind: kindEnd, id: 1, feedback: adaptive.Feedback{Verdict: adaptive.OK}})
		synctest.Wait()
		assert.Empty(t, b.all(kindGrant), "it waited")
		assert.Error(t, b.reason())
		a.send(&frame{kind: kindAsk, id: 2})
		synctest.Wait()
		assert.Len(t, a.all(kindGrant), 1, "it did not wait")
		assert.Error(t, a.reason())
	})
}

// A machine that was suspended has a monotonic clock that stood still, and a wall clock that did not.
func TestTheEndOfATerm(t *testing.T) {
	now := time.Now()
	var never *term
	assert.False(t, never.over(now))
	assert.True(t, new(term).over(now))
	one := &term{}
	one.extend(now.Add(time.Second))
	assert.False(t, one.over(now))
	assert.True(t, one.over(now.Add(time.Second)))
	assert.True(t, one.ended(now, now.Round(0).Add(time.Minute)))
	assert.True(t, one.ended(now.Add(time.Minute), now.Round(0)))
}

// A leader that was killed right after a renewal is replaced in the time that docs/sharing.md has, whenever the others look.
func TestAKilledLeaderIsReplaced(t *testing.T) {
	for later := time.Duration(0); later < time.Second; later += 100 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			v := &votes{}
			_, _, _, err := v.Acquire(t.Context(), "https://killed.example.com", leaseFor)
			require.NoError(t, err)
			killed := time.Now()
			time.Sleep(later)
			b := newReplica(t, "b.example.com", v)
			for !leads(b) {
				time.Sleep(time.Millisecond)
			}
			assert.LessOrEqual(t, time.Since(killed), 3500*time.Millisecond)
		})
	}
}

// A leader that was stopped past its lease leads no more, and keeps nothing.
func TestAStaleLeaderKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &votes{}
		a := newReplica(t, "a.example.com", v)
		time.Sleep(time.Second)
		require.True(t, leads(a))
		v.set(func() { v.until = time.Time{} }) // as if it had lapsed
		_, _, _, err := v.Acquire(t.Context(), "another", time.Hour)
		require.NoError(t, err)
		v.set(func() { v.saved = []byte("of another") })
		time.Sleep(renewEvery + 2*lookEvery)
		assert.Equal(t, Following, a.Stats().Role)
		v.set(func() { assert.Equal(t, "of another", string(v.saved)) })
	})
}

// What cannot be read is reported, and learning starts anew.
func TestWhatWasKeptIsOdd(t *testing.T) {
	for text, want := range map[string]string{
		"{":                      "damaged",
		`{"version":99}`:         "version 99",
		`{"version":1,"keys":0}`: "damaged",
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newReplica(t, "a.example.com", &votes{saved: []byte(text)})
			time.Sleep(time.Second)
			assert.True(t, leads(a))
			assert.Contains(t, a.Stats().Reason, want)
			one, err := joining(t, a).Guard(guard.Policy{Name: "k"})
			require.NoError(t, err)
			require.NoError(t, one.Do(t.Context(), throttle.Cost{}, noCall))
		})
	}
}

// nasty is an Election that is not one.
type nastyVotes struct{ Election }

// A panic in an Election is an error, and the next attempt is made.
func TestAnElectionThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newReplica(t, "a.example.com", &nastyVotes{})
		time.Sleep(time.Minute)
		assert.Equal(t, Joining, h.Stats().Role)
		assert.Contains(t, h.Stats().Reason, "panic")
	})
}
