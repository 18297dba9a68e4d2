package guard_test

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
	"github.com/headrace/headrace/throttle"
)

func TestSetKeepsWhatAnUnchangedLawHasLearned(t *testing.T) {
	spelt := adaptive.Measured{
		Initial: 4, Max: 200,
		Prior: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(3, 5), throttle.Fixed(9, time.Hour, time.Time{})}},
	}
	short := adaptive.Measured{Prior: throttle.Limits{Windows: []throttle.Window{
		throttle.Bucket(3, 5), throttle.Fixed(9, time.Hour, time.Time{}),
	}}}
	concurrent := func(n int) guard.Policy { return guard.Policy{Limits: throttle.Limits{Concurrency: n}} }
	withLaw := func(law adaptive.Law) guard.Policy { return guard.Policy{Law: law} }
	for about, c := range map[string]struct {
		from, to guard.Policy
		kept     bool
	}{
		"equal":                      {capped(8), capped(8), true},
		"other limits":               {capped(8), guard.Policy{Law: adaptive.AIMD{Initial: 8, Max: 8}, Limits: throttle.Limits{Concurrency: 5}}, true},
		"defaults written down":      {withLaw(adaptive.AIMD{}), withLaw(adaptive.AIMD{Min: 1, Initial: 5, Max: 20, Backoff: 0.5}), true},
		"defaults taken away":        {withLaw(spelt), withLaw(short), true},
		"another field":              {capped(8), capped(9), false},
		"another law":                {capped(8), withLaw(adaptive.Measured{}), false},
		"another prior":              {withLaw(spelt), withLaw(adaptive.Measured{}), false},
		"no law, other concurrency":  {concurrent(8), concurrent(100), true},
		"no law, any concurrency":    {concurrent(8), concurrent(201), true},
		"the default, written down":  {concurrent(8), withLaw(adaptive.Measured{}), true},
		"a law where there was none": {concurrent(8), withLaw(adaptive.AIMD{}), false},
		"a law of the user's":        {withLaw(funcLaw{}), withLaw(funcLaw{}), true},
		"one with a function":        {withLaw(funcLaw{func() {}}), withLaw(funcLaw{func() {}}), false},
	} {
		t.Run(about, func(t *testing.T) {
			l := made(t, c.from)
			l.Learn(time.Now().Add(-time.Second), hitAfter(time.Minute))
			before := l.Stats().View
			require.Equal(t, int64(1), before.Hits)
			require.NoError(t, l.Set(c.to))
			after := l.Stats().View
			assert.Equal(t, before.GateUntil, after.GateUntil, "the gate stays")
			if c.kept {
				assert.Equal(t, int64(1), after.Hits)
				assert.Equal(t, before, after)
			} else {
				assert.Zero(t, after.Hits)
				assert.Equal(t, made(t, c.to).Stats().View.Concurrency, after.Concurrency)
			}
			assert.Equal(t, c.to.Limits, l.Throttle().Limits())
		})
	}
}

// Before the first rejection no law runs, unless the policy has one.
func TestSetOfALawStartsIt(t *testing.T) {
	g := made(t, guard.Policy{})
	require.NoError(t, g.Set(guard.Policy{MaxWait: time.Hour}))
	assert.Zero(t, g.Stats().View.Concurrency)
	require.NoError(t, g.Set(guard.Policy{Law: adaptive.Measured{}}))
	assert.Equal(t, 4, g.Stats().View.Concurrency)
}

// funcLaw is a law of a type that cannot be compared.
type funcLaw struct{ f func() }

func (l funcLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	return adaptive.AIMD{}.Start(now, seed)
}

func TestResetAndRestoreStartTheLawThatWasSet(t *testing.T) {
	l := made(t, capped(8))
	require.NoError(t, l.Set(capped(16)))
	l.Learn(time.Now(), hitAfter(time.Nanosecond))
	require.Equal(t, 8, l.Stats().View.Concurrency)
	saved, err := l.Save()
	require.NoError(t, err)
	require.NoError(t, l.Reset())
	assert.Equal(t, 16, l.Stats().View.Concurrency)
	require.NoError(t, l.Restore(saved))
	assert.Equal(t, 8, l.Stats().View.Concurrency)
	require.NoError(t, l.Set(guard.Policy{Law: unbounded{}}))
	assert.ErrorIs(t, l.Restore(saved), errors.ErrUnsupported)
}

// Eight calls are rejected one after another; Set comes in the middle.
func TestSetDuringABurstCutsOnce(t *testing.T) {
	for about, to := range map[string]guard.Policy{"same law": capped(8), "another law": capped(16)} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, capped(8))
				to.Limits = throttle.Limits{Concurrency: 10}
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						calls := 0
						assert.NoError(t, do(t.Context(), l, func(context.Context) error {
							if calls++; calls == 1 {
								time.Sleep(time.Second + time.Duration(i))
								return &adaptive.RateLimitHit{RetryAfter: time.Minute}
							}
							return nil
						}))
					})
				}
				time.Sleep(time.Second + 3) // some of them are back
				synctest.Wait()
				require.Equal(t, 4, l.Stats().View.Concurrency)
				gate := l.Stats().View.GateUntil
				require.NoError(t, l.Set(to))
				time.Sleep(time.Millisecond)
				assert.False(t, l.Stats().View.GateUntil.Before(gate))
				if about == "same law" {
					assert.Equal(t, 4, l.Stats().View.Concurrency)
				} else {
					assert.Equal(t, 8, l.Stats().View.Concurrency, "half of 16")
				}
				assert.Equal(t, int64(1), l.Stats().View.Cuts)
				assert.Equal(t, 8, l.Stats().Waiting)
				wg.Wait()
				s := l.Stats()
				assert.Zero(t, s.InFlight+s.Waiting)
				assert.Equal(t, int64(16), s.Admitted)
			})
		})
	}
}

// The limits of one policy are never combined with the controller of another.
func TestSetIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byLimit := guard.Policy{Limits: throttle.Limits{Concurrency: 1}, Law: adaptive.AIMD{Initial: 50, Max: 50}}
		byLaw := guard.Policy{Limits: throttle.Limits{Concurrency: 50}, Law: adaptive.AIMD{Initial: 1, Max: 1}}
		l := made(t, byLimit)
		var wg sync.WaitGroup
		var running gauge
		for range 30 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					running.run(time.Minute)
					return nil
				}))
			})
		}
		for i := range 20 {
			time.Sleep(time.Minute)
			require.NoError(t, l.Set([]guard.Policy{byLaw, byLimit}[i%2]))
		}
		wg.Wait()
		assert.Equal(t, int64(1), running.most.Load())
	})
}

func TestSetOfDetectorAndMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		c := capped(4)
		l := made(t, c)
		c.MaxWait = time.Second
		c.Detector = func(err error) adaptive.Feedback {
			if errors.Is(err, odd) {
				return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute}
			}
			return adaptive.Feedback{}
		}
		assert.Equal(t, odd, do(t.Context(), l, func(context.Context) error { return odd }))
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error { // in flight over the change
			assert.NoError(t, l.Set(c))
			return odd
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, "api", hit.Scope)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, adaptive.Hit, l.Classify(odd).Verdict)
	})
}
