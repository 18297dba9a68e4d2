package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// admission is what a goroutine knows of a call of its own: cost and time as
// noted, and what it gave back.
type admission struct {
	sent throttle.Sent
	back int64 // tokens
}

// Many goroutines in real time do everything at once. In the end no permit
// has leaked, and no interval ever held more than it may.
func TestHammer(t *testing.T) {
	const (
		goroutines = 64
		calls      = 400
		requests   = 1500 // per window: quantised
		pool       = 300  // tokens per window: exact
		per        = 20 * time.Millisecond
		slots      = 24
	)
	roomy := throttle.Limits{Concurrency: slots, Windows: []throttle.Window{
		throttle.Sliding(requests, per), throttle.Sliding(pool, per).Of(throttle.Tokens), throttle.Bucket(1e6, 100).Of(throttle.Points),
	}}
	tight := throttle.Limits{Concurrency: slots / 2, Windows: []throttle.Window{
		throttle.Sliding(requests/2, per), throttle.Sliding(pool/2, per).Of(throttle.Tokens), throttle.Bucket(1e6, 50).Of(throttle.Points),
	}}
	g := &law{}
	l := newLimiter(t, roomy, governed(g))
	var wg sync.WaitGroup
	logs := make([][]admission, goroutines)
	for i := range goroutines {
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			var ended throttle.Permit
			for range calls {
				c := throttle.Cost{Requests: rnd.Int64N(3), Tokens: rnd.Int64N(10), Points: rnd.Int64N(10)}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(5000))*time.Microsecond)
				var p throttle.Permit
				var err error
				switch rnd.IntN(6) {
				case 0:
					p, err = l.TryAcquire(c)
				case 1:
					p, err = l.Reacquire(ctx, c, rnd.Int64N(1000)+1)
				case 2:
					err = errors.New("no permit")
					_ = l.Wait(ctx, c)
				case 3:
					err = errors.New("no permit")
					l.Allow(c)
				default:
					p, err = l.Acquire(ctx, c)
				}
				cancel()
				switch rnd.IntN(400) {
				case 0:
					assert.NoError(t, l.SetLimits(tight))
				case 1:
					assert.NoError(t, l.SetLimits(roomy))
				case 2:
					assert.NoError(t, l.SetConcurrency(slots-rnd.IntN(slots-1)))
				case 3:
					l.PauseUntil(time.Now().Add(time.Millisecond))
				case 4:
					l.Resume()
				case 5:
					l.Close(nil)
				case 6, 7, 8:
					l.Update(nil)
				}
				if rnd.IntN(20) == 0 {
					l.Reopen()
				}
				_, _ = l.Stats(), l.Limits()
				if err != nil {
					continue
				}
				s, ok := p.Sent()
				assert.True(t, ok)
				a := admission{sent: s}
				switch rnd.IntN(4) {
				case 0:
					p.Release()
				case 1:
					p.Cancel()
					a.back = c.Tokens
				case 2:
					a.back = rnd.Int64N(c.Tokens + 1)
					p.Settle(throttle.Cost{Tokens: c.Tokens - a.back, Points: rnd.Int64N(20)})
				case 3:
					assert.True(t, p.End(throttle.Cost{}, func(_ time.Time, heard throttle.Sent) { assert.Equal(t, s, heard) }))
				}
				ended.Cancel()
				p.Release()
				assert.False(t, p.CancelThen(nil))
				ended = p
				logs[i] = append(logs[i], a)
			}
		})
	}
	wg.Wait()

	_, _, sent := g.heard()
	s := l.Stats()
	assert.Zero(t, s.InFlight)
	assert.Zero(t, s.Waiting)
	assert.Equal(t, s.Admitted, int64(len(sent)))
	require.NotEmpty(t, sent)
	given := map[int64]int64{}
	for _, log := range logs {
		for _, a := range log {
			given[a.sent.Seq] = a.back
			assert.Equal(t, a.sent, sent[a.sent.Seq-1])
		}
	}
	total := throttle.Cost{}
	first, held := 0, int64(0)
	for i, s := range sent {
		assert.Equal(t, int64(i)+1, s.Seq)
		assert.LessOrEqual(t, s.InFlight, slots-1)
		held += s.Cost.Tokens - given[s.Seq]
		for ; s.At.Sub(sent[first].At) >= per; first++ {
			held -= sent[first].Cost.Tokens - given[sent[first].Seq]
		}
		assert.LessOrEqual(t, held, int64(pool), "call %d", s.Seq)
		total.Requests += s.Cost.Of(throttle.Requests)
		total.Tokens += s.Cost.Tokens
		total.Points += s.Cost.Points
	}
	assert.Equal(t, total, sent[len(sent)-1].Total)
	assert.True(t, slices.IsSortedFunc(sent, func(a, b throttle.Sent) int { return a.At.Compare(b.At) }))
}
