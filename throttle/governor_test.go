package throttle_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// law records what a limiter reports to it, and gives the configured answers.
type law struct {
	mu     sync.Mutex // guards everything below; a test looks without the limiter's lock
	wait   func(now time.Time) time.Duration
	asked  []throttle.Cost
	slack  int
	sent   []throttle.Sent
	undone []throttle.Sent
}

func (g *law) Admit(now time.Time, c throttle.Cost, _ int) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, c)
	if g.wait == nil {
		return 0
	}
	return g.wait(now)
}

func (g *law) Slack(time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slack++
}

func (g *law) OnSend(_ time.Time, s throttle.Sent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, s)
}

func (g *law) OnUnsent(_ time.Time, s throttle.Sent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.undone = append(g.undone, s)
}

// always has the controller answer d.
func (g *law) always(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait = func(time.Time) time.Duration { return d }
}

// every has the controller space calls by d.
func (g *law) every(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait = func(now time.Time) time.Duration {
		if n := len(g.sent); n > 0 {
			return max(0, g.sent[n-1].At.Add(d).Sub(now))
		}
		return 0
	}
}

// heard returns what the controller was asked, how often it had slack, and what was
// sent, and forgets the former two.
func (g *law) heard() (asked []throttle.Cost, slack int, sent []throttle.Sent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, slack = g.asked, g.slack
	g.asked, g.slack = nil, 0
	return asked, slack, slices.Clone(g.sent)
}

func tokens(n int64) throttle.Cost { return throttle.Cost{Tokens: n} }

func governed(g *law) throttle.Option { return throttle.WithGovernor(g) }

func TestGovernorIsAskedForTheHeadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		g.always(throttle.Forever)
		l := newLimiter(t, throttle.Limits{}, governed(g))
		calls := []*call{spawn(l, tokens(1), 0), spawn(l, tokens(2), 0), spawn(l, tokens(3), 0)}
		sleep(time.Hour)
		asked, slack, _ := g.heard()
		assert.Equal(t, []throttle.Cost{tokens(1)}, asked, "Forever: no timer, only an event")
		assert.Zero(t, slack, "the law binds")

		l.Update(nil)
		assert.False(t, l.Allow(tokens(4)))
		asked, slack, _ = g.heard()
		assert.Equal(t, []throttle.Cost{tokens(1), tokens(1)}, asked, "Update asks again; a newcomer is not the head")
		assert.Zero(t, slack)

		l.Update(func(time.Time) { g.always(0) })
		synctest.Wait()
		asked, slack, _ = g.heard()
		assert.Equal(t, []throttle.Cost{tokens(1), tokens(2), tokens(3)}, asked)
		assert.Equal(t, []int{0, 1, 2}, order(calls...))
		assert.Equal(t, 1, slack, "nobody waits any more")
	})
}

func TestGovernorWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		g.every(time.Second)
		l := newLimiter(t, throttle.Limits{}, governed(g))
		calls := spawnN(l, 4)
		sleep(3 * time.Second)
		for i, c := range calls {
			assert.Equal(t, time.Duration(i)*time.Second, c.after, "asked again after exactly its wait")
		}
		_, err := l.TryAcquire(throttle.Cost{})
		var limited *throttle.LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, time.Second, limited.RetryAfter)

		g.always(-time.Second)
		waits := l.Stats().Waits
		assert.True(t, l.Allow(throttle.Cost{}), "a negative wait is none")
		require.NoError(t, l.Wait(t.Context(), throttle.Cost{}))
		assert.Equal(t, waits, l.Stats().Waits)
	})
}

// A wait that became Forever has no timer any more.
func TestGovernorWaitBecomesForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		g.always(time.Second)
		l := newLimiter(t, throttle.Limits{}, governed(g))
		c := spawn(l, throttle.Cost{}, 0)
		l.Update(func(time.Time) { g.always(throttle.Forever) })
		g.heard()
		sleep(time.Hour)
		asked, _, _ := g.heard()
		assert.Empty(t, asked)
		l.Close(nil)
		synctest.Wait()
		assert.Error(t, c.err)
	})
}

func TestGovernorIsAskedAfterTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}, governed(g))
		heard := func(asked []throttle.Cost, slack int, why string) {
			t.Helper()
			a, s, _ := g.heard()
			assert.Equal(t, asked, a, why)
			assert.Equal(t, slack, s, why)
		}
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		heard([]throttle.Cost{{}}, 0, "a call that goes is no slack")
		c := spawn(l, tokens(1), 0)
		heard(nil, 1, "a window holds the head back")
		_, err = l.TryAcquire(throttle.Cost{})
		require.Error(t, err)
		heard(nil, 1, "still")
		sleep(time.Minute - 1)
		_, err = l.TryAcquire(throttle.Cost{})
		require.Error(t, err)
		heard(nil, 1, "also by the last nanosecond")
		sleep(1)
		heard(nil, 1, "the slot holds it back")
		p.Release()
		synctest.Wait()
		require.True(t, c.finished())
		heard([]throttle.Cost{tokens(1)}, 1, "it goes, and then nobody waits")
		c.permit.Release()
		heard(nil, 1, "nobody waits")

		l.PauseUntil(time.Now().Add(time.Hour))
		heard(nil, 1, "nobody waits")
		assert.False(t, l.Allow(throttle.Cost{}))
		heard(nil, 1, "a pause is no doing of the law")
	})
}

func TestOnSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		l := newLimiter(t, throttle.Limits{}, governed(g))
		begin := time.Now()
		p, err := l.Acquire(t.Context(), throttle.Cost{Input: 5, Output: 2})
		require.NoError(t, err)
		sleep(time.Second)
		require.True(t, l.Allow(throttle.Cost{Requests: 3, Tokens: 1, Points: 4}))
		g.always(throttle.Forever)
		c := spawn(l, throttle.Cost{}, 0)
		sleep(time.Second)
		l.Update(func(time.Time) { g.always(0) })
		synctest.Wait()
		p.Release()
		again, err := l.Reacquire(t.Context(), throttle.Cost{Input: 5}, 1)
		require.NoError(t, err)
		want := []throttle.Sent{
			{Seq: 1, At: begin, InFlight: 0, Cost: throttle.Cost{Input: 5, Output: 2}, Total: throttle.Cost{Requests: 1, Tokens: 7, Input: 5, Output: 2}},
			{
				Seq: 2, At: begin.Add(time.Second), InFlight: 1, Cost: throttle.Cost{Requests: 3, Tokens: 1, Points: 4},
				Total: throttle.Cost{Requests: 4, Tokens: 8, Input: 5, Output: 2, Points: 4},
			},
			{
				Seq: 3, At: begin.Add(2 * time.Second), InFlight: 1,
				Total: throttle.Cost{Requests: 5, Tokens: 8, Input: 5, Output: 2, Points: 4},
			},
			{
				Seq: 4, At: begin.Add(2 * time.Second), InFlight: 1, Cost: throttle.Cost{Input: 5},
				Total: throttle.Cost{Requests: 6, Tokens: 13, Input: 10, Output: 2, Points: 4},
			},
		}
		_, _, sent := g.heard()
		assert.Equal(t, want, sent)
		assert.Equal(t, want[2], c.sent, "the permit tells the same")
		s, ok := again.Sent()
		assert.True(t, ok)
		assert.Equal(t, want[3], s)
	})
}

// A call that ends is an event: the head is asked again at once.
func TestEventsAskAgain(t *testing.T) {
	for name, event := range map[string]func(*throttle.Limiter, throttle.Permit){
		"Release":        func(_ *throttle.Limiter, p throttle.Permit) { p.Release() },
		"Settle":         func(_ *throttle.Limiter, p throttle.Permit) { p.Settle(tokens(1)) },
		"SetConcurrency": func(l *throttle.Limiter, _ throttle.Permit) { _ = l.SetConcurrency(5) },
		"SetLimits":      func(l *throttle.Limiter, _ throttle.Permit) { _ = l.SetLimits(throttle.Limits{}) },
		"Resume":         func(l *throttle.Limiter, _ throttle.Permit) { l.Resume() },
		"Update":         func(l *throttle.Limiter, _ throttle.Permit) { l.Update(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &law{}
				l := newLimiter(t, throttle.Limits{}, governed(g))
				p, err := l.TryAcquire(throttle.Cost{})
				require.NoError(t, err)
				g.always(throttle.Forever)
				c := spawn(l, throttle.Cost{}, 0)
				sleep(time.Hour)
				require.False(t, c.finished())
				g.always(0)
				event(l, p)
				synctest.Wait()
				assert.True(t, c.finished())
			})
		})
	}
}

// A call that does not wait is rejected once, by the limits or by the controller.
func TestRefusedByTheGovernor(t *testing.T) {
	g, fake := &law{}, clockwork.NewFakeClock()
	l := newLimiter(t, windows(throttle.Sliding(2, time.Hour)), governed(g), throttle.WithClock(fake))
	refused := func(n int64) {
		t.Helper()
		assert.Equal(t, n, l.Stats().Refused)
	}
	require.True(t, l.Allow(throttle.Cost{}))
	refused(0)
	g.always(1)
	assert.False(t, l.Allow(throttle.Cost{}), "a nanosecond is a wait")
	refused(1)
	_, err := l.TryAcquire(throttle.Cost{})
	require.ErrorIs(t, err, throttle.ErrLimited)
	refused(2)
	g.always(0)
	require.True(t, l.Allow(throttle.Cost{}))
	refused(2)
	fake.Advance(time.Hour - 1)
	assert.False(t, l.Allow(throttle.Cost{}), "the window")
	refused(3)
}

// A law that lets the head go without saying so is found out by the next to come.
func TestANewcomerFindsThatTheHeadMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &law{}
		g.always(throttle.Forever)
		l := newLimiter(t, throttle.Limits{}, governed(g))
		head := spawn(l, throttle.Cost{}, 0)
		g.always(0)
		_, err := l.TryAcquire(throttle.Cost{})
		var limited *throttle.LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, time.Duration(1), limited.RetryAfter, "the head was here first")
		synctest.Wait()
		assert.True(t, head.finished())
	})
}
