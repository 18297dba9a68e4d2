package benchmarks

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

// note has the figure in the report: go test -v prints attributes, and the
// report takes those of TestX/contender for figures of the operation X.
func note(t *testing.T, unit string, figure float64) {
	t.Helper()
	t.Attr(unit, strconv.FormatFloat(figure, 'g', -1, 64))
}

// onWallClock keeps what needs real time out of make test.
func onWallClock(t *testing.T) {
	t.Helper()
	if os.Getenv(roundEnv) == "" {
		t.Skip("reads the system's clock past synctest: only as part of a report")
	}
}

// A line is a limiter that people wait at.
type line struct {
	name string
	// make returns the limiter at perSecond without a burst, its only unit
	// taken, and how to change perSecond, nil if that cannot be done.
	make  func(t *testing.T, perSecond float64) (wait func(ctx context.Context) error, set func(perSecond float64))
	exact bool // it is ours: the test holds it to its promises
}

func headraceLine(w func(perSecond float64) throttle.Window) func(*testing.T, float64) (func(context.Context) error, func(float64)) {
	return func(t *testing.T, perSecond float64) (func(ctx context.Context) error, func(perSecond float64)) {
		t.Helper()
		l := limiter(t, windows(w(perSecond)))
		require.True(t, l.Allow(throttle.Cost{}))
		return headraceSlot{l}.wait, func(perSecond float64) { assert.NoError(t, l.SetLimits(windows(w(perSecond)))) }
	}
}

func interval(perSecond float64) time.Duration {
	return time.Duration(float64(time.Second) / perSecond)
}

func lines() []line {
	return []line{
		{"headrace", headraceLine(func(r float64) throttle.Window { return throttle.Bucket(r, 1) }), true},
		{"headrace-sliding", headraceLine(func(r float64) throttle.Window { return throttle.Sliding(1, interval(r)) }), true},
		{"x-time-rate", func(t *testing.T, perSecond float64) (func(ctx context.Context) error, func(perSecond float64)) {
			t.Helper()
			l := rate.NewLimiter(rate.Limit(perSecond), 1)
			require.True(t, l.Allow())
			return l.Wait, func(perSecond float64) { l.SetLimit(rate.Limit(perSecond)) }
		}, false},
		{"failsafe-go", func(t *testing.T, perSecond float64) (func(ctx context.Context) error, func(perSecond float64)) {
			t.Helper()
			l := ratelimiter.NewSmoothWithMaxRate[any](interval(perSecond))
			require.True(t, l.TryAcquirePermit())
			return l.AcquirePermit, nil
		}, false},
	}
}

// A queue is a number of calls that wait for one admission each.
type queue struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc

	mu       sync.Mutex      // guards admitted
	admitted []time.Duration // since the queue was made
}

// enqueue returns when all wait. To be called in a bubble.
func enqueue(t *testing.T, n int, wait func(ctx context.Context) error) *queue {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	q := &queue{cancel: cancel}
	start := time.Now()
	for range n {
		q.wg.Go(func() {
			if wait(ctx) != nil {
				return
			}
			q.mu.Lock()
			defer q.mu.Unlock()
			q.admitted = append(q.admitted, time.Since(start))
		})
	}
	synctest.Wait()
	return q
}

// count is how many have been admitted.
func (q *queue) count() int {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.admitted)
}

// dissolve cancels the calls that still wait.
func (q *queue) dissolve() {
	q.cancel()
	q.wg.Wait()
}

// TestCancelStorm makes 20 calls wait at 10 per second and cancels all of them, in a
// random order, halfway to the next admission: the next call should have
// it. The figure is the worst of 20 orders.
func TestCancelStorm(t *testing.T) {
	const ideal = 50 * time.Millisecond
	for _, l := range lines() {
		t.Run(l.name, func(t *testing.T) {
			var most time.Duration
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) { most = max(most, delayAfterStorm(t, l, ideal, seed)) })
			}
			note(t, "delay-ms", float64(most)/float64(time.Millisecond))
			note(t, "x-ideal", float64(most)/float64(ideal))
			if l.exact {
				assert.Equal(t, ideal, most.Round(time.Microsecond))
			}
		})
	}
}

func delayAfterStorm(t *testing.T, l line, ideal time.Duration, seed uint64) time.Duration {
	t.Helper()
	wait, _ := l.make(t, 10)
	var queues []*queue
	for range 20 {
		queues = append(queues, enqueue(t, 1, wait))
	}
	time.Sleep(ideal)
	for _, i := range rand.New(rand.NewPCG(seed, seed)).Perm(len(queues)) {
		queues[i].dissolve()
	}
	start := time.Now()
	require.NoError(t, wait(t.Context()))
	return time.Since(start)
}

// TestLowered has 500 wait at 1,000 per second and makes that 10 per second:
// in the half second after it, five more should go.
func TestLowered(t *testing.T) {
	const ideal = 5
	for _, l := range lines() {
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait, set := l.make(t, 1_000)
				if set == nil {
					t.Skip("its rate cannot be changed")
				}
				q := enqueue(t, 500, wait)
				time.Sleep(120 * time.Millisecond)
				before := q.count()
				set(10)
				time.Sleep(500 * time.Millisecond)
				after := q.count() - before
				q.dissolve()
				note(t, "admitted", float64(after))
				note(t, "x-ideal", float64(after)/ideal)
				if l.exact {
					assert.Equal(t, ideal, after)
				}
			})
		})
	}
}

// TestLoweredHistory lowers a sliding window from 1,000 per second to 10 after
// 1,000 were admitted at once: for a second it admits no call, and in no second
// after that more than 10.
func TestLoweredHistory(t *testing.T) {
	t.Run("headrace-sliding", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, windows(throttle.Sliding(1_000, time.Second)))
			q := enqueue(t, 2_000, headraceSlot{l}.wait)
			require.Equal(t, 1_000, q.count())
			time.Sleep(120 * time.Millisecond)
			require.NoError(t, l.SetLimits(windows(throttle.Sliding(10, time.Second))))
			time.Sleep(10 * time.Second)
			q.count()
			late := q.admitted[1_000:]
			early := 0
			for _, at := range late {
				if at < time.Second {
					early++
				}
			}
			excess := max(early, worst(late, time.Second)-10)
			q.dissolve()
			note(t, "excess", float64(excess))
			assert.Zero(t, excess)
			assert.NotEmpty(t, late)
		})
	})
}

// TestRaised has 200 wait at 10 per second and makes that 1,000 per second: in
// the tenth of a second after it, a hundred should go.
func TestRaised(t *testing.T) {
	const ideal = 100
	for _, l := range lines() {
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait, set := l.make(t, 10)
				if set == nil {
					t.Skip("its rate cannot be changed")
				}
				q := enqueue(t, 200, wait)
				time.Sleep(120 * time.Millisecond)
				before := q.count()
				set(1_000)
				time.Sleep(100 * time.Millisecond)
				after := q.count() - before
				q.dissolve()
				note(t, "admitted", float64(after))
				note(t, "x-ideal", float64(after)/ideal)
				if l.exact {
					assert.InDelta(t, ideal, after, 1) // what is due at the very end
				}
			})
		})
	}
}
