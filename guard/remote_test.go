package guard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// interior is what package group uses of a guard.
type interior interface {
	Update(f func(now time.Time))
	Close(until time.Time, cause error)
	Closed() (until time.Time)
	Memory() (m reopening.Memory, cause error)
	Remember(m reopening.Memory, cause error)
	Once(c throttle.Cost) *guard.Call
	Patient(c throttle.Cost) *guard.Call
	Adopt(c throttle.Cost, began time.Time) (end func(adaptive.Feedback))
	Signal(h *adaptive.RateLimitHit)
}

func interiorOf(g *guard.Guard) interior { return hook.Open[interior](g) }

// far is a law of which another guard admits the calls: what that has granted is
// in grants. The limiter's lock guards it.
type far struct {
	grants   int
	tries    int
	asked    []throttle.Cost
	slack    int
	sent     []int64
	ended    map[int64]adaptive.Feedback
	reopened int
	resets   int
	guard    interior
	refusal  error
}

func (f *far) Start(time.Time, uint64) (adaptive.State, error) { return f, nil }

func (f *far) Admit(_ time.Time, c throttle.Cost, _ int) time.Duration {
	if f.grants+f.tries > 0 {
		return 0
	}
	f.asked = append(f.asked, c)
	return throttle.Forever
}

func (f *far) Slack(time.Time) { f.slack++ }

func (f *far) OnSend(_ time.Time, s throttle.Sent) {
	if f.grants == 0 {
		f.tries--
	} else {
		f.grants--
	}
	f.sent = append(f.sent, s.Seq)
}

func (f *far) OnResult(_ time.Time, s throttle.Sent, _ int, fb adaptive.Feedback) {
	if f.ended == nil {
		f.ended = map[int64]adaptive.Feedback{}
	}
	f.ended[s.Seq] = fb
}

func (f *far) OnSignal(time.Time, *adaptive.RateLimitHit) {}

func (f *far) View() adaptive.View { return adaptive.View{} }

func (f *far) Try(context.Context, throttle.Cost) (func(), error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.guard.Update(func(time.Time) { f.tries++ })
	return func() { f.guard.Update(func(time.Time) { f.tries = 0 }) }, nil
}

func (f *far) Reopen() bool { f.reopened++; return true }

func (f *far) Reset() { f.resets++ }

func (*far) Standing() string { return "far away" }

func remotely(t *testing.T, p guard.Policy) (*guard.Guard, *far) {
	t.Helper()
	f := &far{}
	p.Law = f
	g := made(t, p)
	f.guard = interiorOf(g)
	return g, f
}

func (f *far) grant(n int) { f.guard.Update(func(time.Time) { f.grants += n }) }

// The head of the queue alone asks, and calls go in the order in which they came.
func TestARemoteGuardAdmitsTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := remotely(t, guard.Policy{})
		var order []int64
		for i := range int64(3) {
			go func() {
				assert.NoError(t, g.Do(t.Context(), tokens(i+1), func(context.Context) error { order = append(order, i); return nil }))
			}()
			synctest.Wait()
		}
		assert.Empty(t, order)
		assert.Contains(t, g.Stats().Why, "far away")
		for i := range int64(3) {
			assert.Equal(t, tokens(i+1), f.asked[len(f.asked)-1])
			f.grant(1)
			synctest.Wait()
			assert.Len(t, order, int(i)+1)
		}
		assert.Equal(t, []int64{0, 1, 2}, order)
		assert.Len(t, f.ended, 3)
		assert.Equal(t, adaptive.OK, f.ended[1].Verdict)
	})
}

// Pauses and closings are those of the other guard: a guard does not close or
// pause by itself while the other one admits its calls.
func TestARemoteGuardDecidesWhenAKeyCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := remotely(t, guard.Policy{})
		begun := time.Now()
		for _, fb := range []adaptive.Feedback{{Verdict: adaptive.Terminal}, hitAfter(time.Hour), hitAfter(time.Second)} {
			f.grant(1)
			call := g.Begin(throttle.Cost{})
			_, err := call.Admit(t.Context())
			require.NoError(t, err)
			again, err := call.End(fb)
			assert.Equal(t, fb.Verdict == adaptive.Hit, again, "the other guard closes the key, or does not believe the wait")
			assert.NotEqual(t, again, err != nil)
			assert.NoError(t, g.Stats().Closed)
			assert.Equal(t, fb.Verdict, f.ended[f.sent[len(f.sent)-1]].Verdict)
		}

		assert.Equal(t, begun, time.Now())

		closed := errors.New("closed there")
		var err error
		go func() { err = g.Do(t.Context(), throttle.Cost{}, nothing) }()
		synctest.Wait()
		f.guard.Update(func(now time.Time) { f.guard.Close(now.Add(time.Minute), closed) })
		synctest.Wait()
		require.ErrorIs(t, err, closed)
		assert.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), closed)
		time.Sleep(time.Minute)
		f.grant(1)
		assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))

		f.guard.Update(func(now time.Time) { f.guard.Close(now.Add(time.Minute), closed) })
		g.Reopen()
		assert.Equal(t, 1, f.reopened)
		f.grant(1)
		assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	})
}

func TestATryAsksARemoteGuardOnce(t *testing.T) {
	g, f := remotely(t, guard.Policy{})
	require.NoError(t, g.Try(t.Context(), throttle.Cost{}, nothing))
	assert.Zero(t, f.tries)
	assert.Empty(t, f.asked)

	f.refusal = errors.New("not now")
	assert.ErrorIs(t, g.Try(t.Context(), throttle.Cost{}, nothing), f.refusal)

	inner, err := guard.New(guard.Policy{Within: []*guard.Guard{g}, Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, err)
	assert.ErrorIs(t, inner.Try(t.Context(), throttle.Cost{}, nothing), f.refusal)
	f.refusal = nil
	assert.NoError(t, inner.Try(t.Context(), throttle.Cost{}, nothing))
	assert.Zero(t, inner.Stats().InFlight)
}

// The other guard has to receive the end of every call that it has admitted.
func TestARemoteGuardReceivesCallsFromBeforeAReset(t *testing.T) {
	g, f := remotely(t, guard.Policy{})
	f.grant(2)
	call := g.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	require.NoError(t, g.Reset())
	assert.Equal(t, 1, f.resets)
	_, err = call.End(of(adaptive.OK))
	require.NoError(t, err)
	assert.Equal(t, adaptive.OK, f.ended[1].Verdict)
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	assert.Contains(t, f.ended, int64(2))
}

// What is unsent is given back there.
func TestARemoteGuardReceivesCallsThatWereNotSent(t *testing.T) {
	g, f := remotely(t, guard.Policy{})
	f.grant(1)
	call := g.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	_, err = call.End(of(adaptive.Unsent))
	require.NoError(t, err)
	assert.Equal(t, adaptive.Unsent, f.ended[1].Verdict)
}

// A preset is where the other guard starts: only a hard one binds here.
func TestThePresetOfARemoteGuard(t *testing.T) {
	g, _ := remotely(t, guard.Policy{Preset: "openai/tier1"})
	assert.Empty(t, g.Stats().Limits.Windows)
}

func TestTheRemoteLawStays(t *testing.T) {
	g, f := remotely(t, guard.Policy{})
	require.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}))
	f.grant(1)
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	assert.Len(t, f.ended, 1)
	assert.Equal(t, []string{"Law"}, fieldsOf(g.Set(guard.Policy{Law: adaptive.AIMD{}})))
}

// Calls that another guard has admitted take part in the limits until they end.
func TestAdoptedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, capped(2))
		end := interiorOf(g).Adopt(throttle.Cost{}, time.Now().Add(-time.Second))
		assert.Equal(t, 1, g.Stats().InFlight)
		for range 2 {
			go func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, ok(time.Minute))) }()
			synctest.Wait()
		}
		assert.Equal(t, 1, g.Stats().Waiting)
		end(hitAfter(0))
		synctest.Wait()
		assert.EqualValues(t, 1, g.Stats().View.Hits)
		time.Sleep(5 * time.Minute) // one call after the other takes two
		assert.Zero(t, g.Stats().Waiting)
		assert.Zero(t, g.Stats().InFlight)
	})
}

// The controller counts calls that another guard has admitted: a cap that is found while they
// are in flight is not lower by their number.
func TestAdoptedCallsAreInFlightForTheLaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Law: adaptive.Measured{}})
		require.NoError(t, g.Restore([]byte(`{"law":"measured","version":1,"in_flight":30,"claimed":true,"trip":1}`)))
		var ends []func(adaptive.Feedback)
		for range 15 {
			ends = append(ends, interiorOf(g).Adopt(throttle.Cost{}, time.Now()))
		}
		var last *guard.Call
		for range 6 {
			last = g.Begin(throttle.Cost{})
			_, err := last.Admit(t.Context())
			require.NoError(t, err)
		}
		_, _ = last.End(adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindConcurrency})
		assert.GreaterOrEqual(t, g.Stats().View.Concurrency, 15)
		for _, end := range ends {
			end(of(adaptive.OK))
		}
		assert.Equal(t, 5, g.Stats().InFlight)
	})
}

func TestClosedSaysWhenACallLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		assert.Zero(t, interiorOf(g).Closed())
		_ = g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			guard.Report(ctx, of(adaptive.Terminal))
			return errors.New("used up")
		})
		assert.Equal(t, time.Now().Add(time.Minute), interiorOf(g).Closed())
	})
}

// How long calls wait for another process is up to that.
func TestAPatientCallWaitsForLongerThanMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := capped(1)
		p.MaxWait = time.Second
		g := made(t, p)
		go func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, ok(time.Hour))) }()
		synctest.Wait()
		_, err := interiorOf(g).Once(throttle.Cost{}).Admit(t.Context())
		assert.ErrorIs(t, err, throttle.ErrLimited)
		begun := time.Now()
		_, err = interiorOf(g).Patient(throttle.Cost{}).Admit(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(begun))
	})
}
