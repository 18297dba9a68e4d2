package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func TestWhatTheLimiterHasLearnedIsKeptForAnHour(t *testing.T) {
	for name, tc := range map[string]struct {
		pause time.Duration
		law   adaptive.Law
		want  int
	}{
		"at once":            {0, aimd, 4},
		"just under an hour": {time.Hour - time.Second, aimd, 4},
		"after an hour":      {time.Hour, aimd, 8},
		"by another law":     {0, adaptive.Measured{}, 0}, // that is no error
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newFaulty(nil)
				var calls tally
				batch := func(law adaptive.Law) batch {
					return node.Map("m", func(ctx context.Context, i int) (int, error) {
						if calls.add(i) == 1 && i == 0 {
							return 0, hit(time.Second)
						}
						return i, nil
					}).WithJournal(j).With(guard.Policy{Law: law, Limits: concurrency(8)}).WithParallel(8)
				}
				first := batch(aimd)
				_, err := first.All(t.Context(), []int{0})
				require.NoError(t, err)
				lim := first.Guard()
				require.Equal(t, 4, lim.Stats().View.Concurrency)

				time.Sleep(tc.pause)
				next := batch(tc.law)
				lim = next.Guard()
				_, err = next.All(t.Context(), []int{0})
				require.NoError(t, err)
				if tc.want > 0 {
					assert.Equal(t, tc.want, lim.Stats().View.Concurrency)
				}
			})
		})
	}
}

// The guard of a node without settings learns from its first 429 on, and the
// process that resumes the run goes on with that.
func TestWhatTheFirst429HasTaughtIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFaulty(nil)
		refuse := true
		process := func(items ...int) *guard.Guard {
			m := node.Map("m", func(_ context.Context, i int) (int, error) {
				if refuse {
					refuse = false
					return 0, hit(time.Second)
				}
				return i, nil
			}).WithJournal(j)
			_, err := m.All(t.Context(), items)
			require.NoError(t, err)
			return m.Guard()
		}
		first := process(0)
		state, err := first.Save()
		require.NoError(t, err)
		require.NotNil(t, state)
		second := process(0) // nothing to call
		restored, err := second.Save()
		require.NoError(t, err)
		assert.JSONEq(t, string(state), string(restored))

		time.Sleep(time.Hour)
		state, err = process(0).Save()
		require.NoError(t, err)
		assert.Nil(t, state, "what is too old is not restored")
	})
}

func TestALimiterInUseIsLeftAlone(t *testing.T) {
	j := newFaulty(nil)
	lim := newGuard(t, guard.Policy{Name: "shared", Law: aimd})
	state, err := newGuard(t, guard.Policy{Name: "shared", Law: adaptive.AIMD{Initial: 2, Max: 8}}).Save()
	require.NoError(t, err)
	require.NoError(t, lim.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	require.NoError(t, j.Memory.SaveLaw(t.Context(), "shared", journal.Law{State: state, At: time.Now()}))
	_, err = node.Map("m", same).Within(lim).WithJournal(j).All(t.Context(), []int{1})
	require.NoError(t, err)
	assert.Equal(t, 8, lim.Stats().View.Concurrency)
}

// A clock that was ahead when it was saved does not make it fresh for as long as that.
func TestWhatTheLimiterHasLearnedAtATimeToComeIsNotRestored(t *testing.T) {
	for ahead, want := range map[time.Duration]int{time.Minute: 2, 365 * 24 * time.Hour: 8} {
		j := newFaulty(nil)
		state, err := newGuard(t, guard.Policy{Name: "saved", Law: adaptive.AIMD{Initial: 2, Max: 8}}).Save()
		require.NoError(t, err)
		require.NoError(t, j.Memory.SaveLaw(t.Context(), "saved", journal.Law{State: state, At: time.Now().Add(ahead)}))
		lim := newGuard(t, guard.Policy{Name: "saved", Law: aimd})
		_, err = node.Map("m", same).Within(lim).WithJournal(j).All(t.Context(), []int{1})
		require.NoError(t, err)
		assert.Equal(t, want, lim.Stats().View.Concurrency, ahead)
	}
}

// It is saved each minute and at the end; that this fails is no reason to stop.
func TestTheLawIsSavedEachMinute(t *testing.T) {
	for name, fault := range faults(nil) {
		if name == "hangs" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newFaulty(nil)
				run := func() {
					m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 20*time.Second) }).
						WithJournal(j).With(guard.Policy{Law: aimd, Limits: concurrency(1)})
					_, err := m.All(journal.WithRun(t.Context(), name+time.Now().String()), numbers(8))
					require.NoError(t, err)
				}
				run()
				assert.Len(t, j.saved, 3, "in 160 s: after 60 s, after 120 s and at the end")
				j.on = always("save", fault)
				run()
			})
		})
	}
}
