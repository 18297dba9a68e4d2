package adaptive_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// bucket is a provider of fifty calls a second, which it never tells. Its
// refusals name the limit, come at once, and say nothing of when to come back.
type bucket struct {
	sigma float64 // of the latency's logarithm; its median is 300 ms

	mu              sync.Mutex // guards the rest
	luck            *rand.Rand
	level           float64
	at              time.Time
	served, refused int
}

const perSecondOfBucket = 50

func newBucket(sigma float64) *bucket {
	return &bucket{sigma: sigma, luck: rand.New(rand.NewPCG(1, 2)), at: time.Now()}
}

// estimate is what a call reserves in tokens, of which it uses eight.
func (b *bucket) estimate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return 10 + b.luck.Int64N(20)
}

func (b *bucket) call(ctx context.Context) error {
	latency, err := b.arrive()
	time.Sleep(latency)
	adaptive.Use(ctx, throttle.Cost{Tokens: 8})
	return err
}

func (b *bucket) arrive() (latency time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	latency = time.Duration(300e6 * math.Exp(b.sigma*b.luck.NormFloat64()))
	if b.luck.Float64() < 0.02 {
		return latency, statusError(500)
	}
	now := time.Now()
	b.level = min(perSecondOfBucket, b.level+now.Sub(b.at).Seconds()*perSecondOfBucket)
	b.at = now
	if b.level < 1 {
		b.refused++
		return time.Millisecond, &sdkError{Type: "requests", Response: answered(429).Response}
	}
	b.level--
	b.served++
	return latency, nil
}

// load has 32 workers call through l for d. It returns the share of what was
// allowed that was served, and the share of these calls that was refused.
func (b *bucket) load(ctx context.Context, l *adaptive.Limiter, d time.Duration) (goodput, refused float64) {
	served, hits, until := b.served, b.refused, time.Now().Add(d)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for time.Now().Before(until) {
				_ = l.Do(ctx, throttle.Cost{Tokens: b.estimate()}, b.call)
			}
		})
	}
	wg.Wait()
	served, hits = b.served-served, b.refused-hits
	return float64(served) / (perSecondOfBucket * d.Seconds()), float64(hits) / float64(served+hits)
}

// Taken for caps, the first of these refusals would hold back the calls in
// flight for minutes. Taken for tokens as well, they would give a second pace in
// series with that of calls, and each would hold up the growth of the other.
func TestARateThatRefusalsNameIsFound(t *testing.T) {
	for _, sigma := range []float64{0.4, 0.8} {
		synctest.Test(t, func(t *testing.T) {
			b := newBucket(sigma)
			cold := limiter(t, adaptive.Config{})
			b.load(t.Context(), cold, time.Minute)
			saved, err := cold.Save()
			require.NoError(t, err)
			warm := limiter(t, adaptive.Config{})
			require.NoError(t, warm.Restore(saved))

			for name, l := range map[string]*adaptive.Limiter{"cold": cold, "warm": warm} {
				goodput, refused := b.load(t.Context(), l, 3*time.Minute)
				t.Logf("sigma %.1f, %s: goodput %.3f, refused %.4f", sigma, name, goodput, refused)
				assert.GreaterOrEqual(t, goodput, 0.98, name)
				assert.LessOrEqual(t, refused, 0.015, name)
			}
		})
	}
}

// The kind of a refusal decides what is learnt of it.
func TestMeasuredHearsTheKind(t *testing.T) {
	for _, c := range []struct {
		kind          adaptive.Kind
		bound         int // calls in flight
		calls, tokens bool
	}{
		{adaptive.UnknownKind, 4, false, false}, // a cap, on trial
		{adaptive.KindRequests, 0, true, false},
		{adaptive.KindTokens, 0, true, true},
		{adaptive.KindConcurrency, 4, false, false},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s, err := adaptive.Measured{Initial: 20}.Start(now, 1)
			require.NoError(t, err)
			cost := throttle.Cost{Requests: 1, Tokens: 10}
			sent := throttle.Sent{Cost: cost}
			for i := range 5 {
				sent.Seq, sent.At, sent.InFlight = int64(i)+1, now.Add(time.Duration(i)*time.Second), i
				sent.Total = throttle.Cost{Requests: sent.Seq, Tokens: 10 * sent.Seq}
				s.OnSend(sent.At, sent)
			}
			s.OnResult(sent.At.Add(time.Second), sent, 4, adaptive.Feedback{Verdict: adaptive.Hit, Kind: c.kind})
			v := s.View()
			assert.Equal(t, c.calls, v.Pace[throttle.Requests] > 0)
			assert.Equal(t, c.tokens, v.Pace[throttle.Tokens] > 0)
			if c.bound > 0 {
				assert.Equal(t, c.bound, v.Concurrency)
			}
		})
	}
}
