package guard_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// silent answers for a bucket that names neither a limit nor a time.
func silent(_ time.Duration, admitted bool) adaptive.Feedback {
	if !admitted {
		return rejected(0)
	}
	return taken
}

// press has so many callers send to s through a new guard for some time after a minute, and
// returns how many calls s admitted in that time. way is how long a call takes each way.
func press(t *testing.T, s *server, p guard.Policy, callers int, lasts time.Duration, way func() time.Duration) int {
	t.Helper()
	g := made(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), lasts+2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if g.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
					time.Sleep(way())
					err := s.call(ctx)
					time.Sleep(way())
					return err
				}) != nil {
					time.Sleep(10 * time.Millisecond) // a wait beyond the deadline fails at once
				}
			}
		})
	}
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.taken
	}
	time.Sleep(time.Minute)
	before := count()
	time.Sleep(lasts)
	after := count()
	cancel()
	wg.Wait()
	return after - before
}

// Calls that arrive in another order than they left in make a rate look like a cap. The bound of such a
// cap falls to one call, and trials of what held before show that more is admitted.
func TestASilentRateIsNotStarvedByACap(t *testing.T) {
	seeds := []uint64{0, 5, 9, 10, 11, 12}
	sum := 0
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(20, 10)
			s.answer, s.lasts = silent, 0
			var mu sync.Mutex
			luck := rand.New(rand.NewPCG(seed, 3))
			got := press(t, s, guard.Policy{}, 16, 3*time.Minute, func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return 25*time.Millisecond + time.Duration(luck.Int64N(int64(175*time.Millisecond)))
			})
			assert.Greater(t, got, 3000, "3,600 are possible; seed %d", seed)
			sum += got
		})
	}
	assert.Greater(t, sum/len(seeds), 3420, "in the mean")
}

// The first burst of a fast limit is no cap. After a pause, the calls of that cap would leave at once, again and again.
func TestTheFirstBurstOfAFastSilentRateIsNoCap(t *testing.T) {
	const seeds = 24
	refused := 0
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(66, 66)
			s.answer, s.lasts = silent, 5*time.Millisecond
			var mu sync.Mutex
			luck := rand.New(rand.NewPCG(seed, 3))
			press(t, s, guard.Policy{Law: adaptive.Measured{}}, 200, time.Second, func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Millisecond + time.Duration(luck.Int64N(int64(100*time.Millisecond)))
			})
			refused += s.refused
		})
	}
	assert.Less(t, refused, 250*seeds, "in the first minute; up to 84 calls of each are out when the bucket is empty")
}

// A minute that is used up rejects all calls, and no cap does. It is taken for one if the number of calls that got through is wrong by one.
func TestAUsedUpMinuteOfManySilentCallsIsNoCap(t *testing.T) {
	const minutes, each = 3, 12_000
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1, 1)
		minute, left := time.Duration(-1), 0
		s.lasts = 20 * time.Millisecond
		s.answer = func(at time.Duration, _ bool) adaptive.Feedback {
			if now := at / time.Minute; now != minute {
				minute, left = now, each
			}
			if left--; left < 0 {
				return rejected(0)
			}
			return taken
		}
		luck := rand.New(rand.NewPCG(1, 3))
		var mu sync.Mutex
		got := press(t, s, guard.Policy{Law: adaptive.Measured{}}, 300, minutes*time.Minute, func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(luck.Int64N(int64(3*time.Millisecond)))
		})
		assert.Greater(t, got, minutes*each*3/4, "an off-by-one estimate takes a cap for it, and gets two thirds")
	})
}
