package line_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// loops has n clients make one call after the other until ctx ends.
func (c *crowd) loops(ctx context.Context, g *guard.Guard, n int, from line.Caller) {
	for range n {
		c.wg.Go(func() {
			for ctx.Err() == nil {
				own, _ := c.lines.With(ctx, from)
				_ = g.Do(own, throttle.Cost{}, nothing)
			}
		})
	}
}

// shares are the parts of all that was admitted.
func (c *crowd) shares() map[string]float64 {
	parts, sum := map[string]float64{}, 0.
	for _, client := range c.lines.Stats()[0].Clients {
		parts[client.Name] = float64(client.Admitted)
		sum += parts[client.Name]
	}
	for name := range parts {
		parts[name] /= sum
	}
	return parts
}

// interactiveWait is the 95th percentile of the wait of interactive calls that
// arrive at random, beside so many batch calls that wait.
func interactiveWait(t *testing.T, batches int) (p95 time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, perSecond(10))
		ctx, stop := context.WithCancel(t.Context())
		c.loops(ctx, g, batches, batch("batch"))
		random := rand.New(rand.NewPCG(1, 2))
		var tickets []*line.Ticket
		for range 2000 {
			time.Sleep(time.Duration(random.ExpFloat64() * float64(200*time.Millisecond)))
			own, ticket := c.lines.With(ctx, interactive("person"))
			tickets = append(tickets, ticket)
			c.wg.Go(func() { assert.NoError(t, g.Do(own, throttle.Cost{}, nothing)) })
		}
		time.Sleep(10 * time.Second)
		stop()
		c.wg.Wait()
		var waits []time.Duration
		for _, ticket := range tickets {
			waits = append(waits, ticket.Waited())
		}
		slices.Sort(waits)
		p95 = waits[len(waits)*95/100]
	})
	return p95
}

func TestALongQueueOfBatchHoldsNoInteractiveCall(t *testing.T) {
	long, short := interactiveWait(t, 1000), interactiveWait(t, 1)
	t.Logf("p95 of %s beside 1,000 that wait, %s beside one", long, short)
	assert.LessOrEqual(t, float64(long), 1.1*float64(short))
	assert.Positive(t, short)
}

func TestBatchGetsItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, line.Config{})
		g := made(t, perSecond(10))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		c.loops(ctx, g, 100, interactive("person"))
		c.loops(ctx, g, 100, batch("batch"))
		c.wg.Wait()
		parts := c.shares()
		t.Logf("%v", parts)
		assert.GreaterOrEqual(t, parts["batch"], 0.05)
		assert.Less(t, parts["batch"], 0.06)
		assert.InDelta(t, 3000, g.Stats().Admitted, 1)
	})
}

func TestWeightsShareALimit(t *testing.T) {
	for _, priority := range []line.Priority{line.Interactive, line.Batch} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, line.Config{})
			g := made(t, perSecond(10))
			ctx, cancel := context.WithTimeout(t.Context(), 140*time.Second)
			defer cancel()
			weights := map[string]float64{"one": 1, "two": 2, "four": 4}
			for name, w := range weights {
				c.loops(ctx, g, int(20/w), line.Caller{Client: name, Weight: w, Priority: priority})
			}
			c.wg.Wait()
			parts := c.shares()
			for name, w := range weights {
				assert.InEpsilon(t, w/7, parts[name], 0.03, name)
			}
			assert.InDelta(t, 1400, g.Stats().Admitted, 1)
		})
	}
}
