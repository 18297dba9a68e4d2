package throttle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

var histories = flag.Int("histories", 30, "how many histories TestSlotsAreLinearizable judges")

// slotCall is what one goroutine does to a limiter with slots only.
type slotCall struct {
	op    byte // t: TryAcquire, a: Acquire, r: Release, x: Release again, s: SetConcurrency
	slots int  // of SetConcurrency
}

// slotState is the whole of the model.
type slotState struct{ held, slots int }

// slotModel is a semaphore that is changed by one call at a time.
func slotModel(slots int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return slotState{slots: slots} },
		Step: func(state, in, out any) (bool, any) {
			s, call, got := state.(slotState), in.(slotCall), out.(bool)
			switch call.op {
			case 't', 'a':
				if !got { // a try that failed found no slot; a wait that was given up changed nothing
					return call.op == 'a' || s.held >= s.slots, s
				}
				return s.held < s.slots, slotState{s.held + 1, s.slots}
			case 'r':
				return true, slotState{s.held - 1, s.slots}
			case 's':
				return true, slotState{s.held, call.slots}
			default:
				return true, s
			}
		},
		DescribeOperation: func(in, out any) string {
			return fmt.Sprintf("%c %d: %v", in.(slotCall).op, in.(slotCall).slots, out)
		},
	}
}

// slotClient does random things to l, and holds two permits at most.
type slotClient struct {
	l     *throttle.Limiter
	rnd   *rand.Rand
	held  []throttle.Permit
	ended []throttle.Permit
	final bool
}

// draw returns what to do next, and how.
func (c *slotClient) draw() (in slotCall, do func() bool) {
	one := throttle.Cost{Requests: 1}
	switch n := c.rnd.IntN(12); {
	case c.final || n < 4 && len(c.held) > 0 || len(c.held) == 2:
		p := c.held[0]
		c.held, c.ended = c.held[1:], append(c.ended, p)
		return slotCall{op: 'r'}, func() bool { p.Release(); return true }
	case n < 8:
		return slotCall{op: 't'}, func() bool {
			p, err := c.l.TryAcquire(one)
			return c.keep(p, err)
		}
	case n < 10:
		return slotCall{op: 'a'}, func() bool {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() { // it gives up if no slot is freed soon
				for range 50 {
					runtime.Gosched()
				}
				cancel()
			}()
			p, err := c.l.Acquire(ctx, one)
			return c.keep(p, err)
		}
	case n < 11 && len(c.ended) > 0:
		p := c.ended[c.rnd.IntN(len(c.ended))]
		return slotCall{op: 'x'}, func() bool { p.Release(); return true }
	default:
		slots := 1 + c.rnd.IntN(3)
		return slotCall{'s', slots}, func() bool { return c.l.SetConcurrency(slots) == nil }
	}
}

func (c *slotClient) keep(p throttle.Permit, err error) bool {
	if err == nil {
		c.held = append(c.held, p)
	}
	return err == nil
}

// What many goroutines see of the slots of a limiter is what one semaphore would have shown, one call after
// the other.
func TestSlotsAreLinearizable(t *testing.T) {
	const clients, each = 5, 12
	operations, illegal := 0, 0
	for history := range *histories {
		l, err := throttle.New(throttle.Limits{Concurrency: 2})
		require.NoError(t, err)
		var stamps atomic.Int64
		logs := make([][]porcupine.Operation, clients)
		var wg sync.WaitGroup
		for id := range clients {
			c := &slotClient{l: l, rnd: rand.New(rand.NewPCG(uint64(history), uint64(id)))}
			wg.Go(func() {
				for n := 0; n < each || len(c.held) > 0; n++ {
					c.final = n >= each
					in, do := c.draw()
					o := porcupine.Operation{ClientId: id, Input: in, Call: stamps.Add(1)}
					for range c.rnd.IntN(3) {
						runtime.Gosched()
					}
					o.Output = do()
					o.Return = stamps.Add(1)
					logs[id] = append(logs[id], o)
				}
			})
		}
		wg.Wait()
		var all []porcupine.Operation
		for _, log := range logs {
			all = append(all, log...)
		}
		operations += len(all)
		if !porcupine.CheckOperations(slotModel(2), all) {
			illegal++
			t.Errorf("history %d is not that of a semaphore", history)
		}
		assert.Zero(t, l.Stats().InFlight)
	}
	t.Logf("scorecard: row=3 semaphore=%d operations=%d illegal=%d", *histories, operations, illegal)
}
