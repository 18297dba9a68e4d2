package quota_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

var histories = flag.Int("histories", 30, "how many histories the tests of linearizability judge, each")

// What can be done to a store, as porcupine sees it.
type (
	storeCall struct {
		op     byte  // t: Take, e: End, c: Cancel, r: Renew, +: the clock is advanced
		weight int64 // that is or was taken
		ticket int64 // the token of the one that is ended or renewed
		used   int64
		by     time.Duration
	}
	storeAnswer struct {
		ok    bool
		token int64 // that was granted
	}
	// taken is a ticket that the model knows.
	taken struct {
		token, weight int64
		at, lapses    time.Duration
	}
)

// A store has one key, and either slots or a window, both with these bounds.
const (
	mostSlots  = 2
	mostUnits  = 5
	window     = 10 * time.Millisecond
	leaseTime  = 7 * time.Millisecond
	advance    = time.Millisecond
	clientsOf  = 5
	callsOfOne = 12
)

// historian makes a history: clients do random things to a store, and what they see is kept.
type historian struct {
	store  quota.Store
	clock  *clockwork.FakeClock
	limits throttle.Limits
	stamps atomic.Int64
}

func newHistorian(limits throttle.Limits) *historian {
	clock := clockwork.NewFakeClock()
	return &historian{store: quota.NewMemoryStore(clock), clock: clock, limits: limits}
}

// play returns what all clients saw. leased says that tickets have a lease.
func (h *historian) play(t *testing.T, seed int, leased bool) (all []porcupine.Operation) {
	t.Helper()
	logs := make([][]porcupine.Operation, clientsOf)
	var wg sync.WaitGroup
	for id := range clientsOf {
		c := &storeClient{historian: h, rnd: rand.New(rand.NewPCG(uint64(seed), uint64(id))), leased: leased}
		wg.Go(func() {
			for range callsOfOne {
				in, do := c.draw(t)
				o := porcupine.Operation{ClientId: id, Input: in, Call: h.stamps.Add(1)}
				for range c.rnd.IntN(3) {
					runtime.Gosched()
				}
				o.Output = do()
				o.Return = h.stamps.Add(1)
				logs[id] = append(logs[id], o)
			}
		})
	}
	wg.Wait()
	for _, log := range logs {
		all = append(all, log...)
	}
	return all
}

// storeClient is one goroutine, with the tickets that it was given.
type storeClient struct {
	*historian

	rnd     *rand.Rand
	leased  bool
	tickets []quota.Ticket
}

func (c *storeClient) draw(t *testing.T) (in storeCall, do func() storeAnswer) {
	t.Helper()
	n := c.rnd.IntN(10)
	if n == 0 || len(c.tickets) == 0 && n == 1 {
		by := advance * time.Duration(1+c.rnd.IntN(4))
		return storeCall{op: '+', by: by}, func() storeAnswer { c.clock.Advance(by); return storeAnswer{ok: true} }
	}
	if n < 6 || len(c.tickets) == 0 {
		return c.take(t)
	}
	i := c.rnd.IntN(len(c.tickets))
	ticket := c.tickets[i]
	in = storeCall{op: 'e', ticket: ticket.Token, weight: ticket.Demands[0].Cost.Requests}
	if c.leased && n < 8 {
		in.op = 'r'
		return in, func() storeAnswer {
			lost, err := c.store.Renew(t.Context(), []quota.Ticket{ticket}, leaseTime)
			return storeAnswer{ok: err == nil && len(lost) == 0}
		}
	}
	if !c.leased { // such a ticket is not remembered: it may be ended once
		c.tickets = append(c.tickets[:i:i], c.tickets[i+1:]...)
	}
	in.used = c.rnd.Int64N(4)
	if in.used == 0 {
		in.op = 'c'
	}
	return in, func() storeAnswer {
		var err error
		if in.op == 'c' {
			err = c.store.Cancel(t.Context(), ticket)
		} else {
			err = c.store.End(t.Context(), ticket, []throttle.Cost{{Requests: in.used}})
		}
		if err != nil && !errors.Is(err, quota.ErrLeaseLost) {
			t.Error(err)
		}
		return storeAnswer{ok: err == nil}
	}
}

func (c *storeClient) take(t *testing.T) (in storeCall, do func() storeAnswer) {
	t.Helper()
	in = storeCall{op: 't', weight: 1 + c.rnd.Int64N(3)}
	return in, func() storeAnswer {
		g, err := c.store.Take(t.Context(), quota.Request{Lease: leaseTime, Demands: []quota.Demand{{
			Key: "a", Limits: c.limits, Cost: throttle.Cost{Requests: in.weight},
		}}})
		if err != nil {
			t.Error(err)
			return storeAnswer{}
		}
		if g.Wait > 0 {
			return storeAnswer{}
		}
		c.tickets = append(c.tickets, g.Ticket)
		return storeAnswer{true, g.Ticket.Token}
	}
}

// A lease is held by one caller at a time: what many goroutines see of them is what one list of leases would have
// shown, one call after the other.
func TestLeasesAreLinearizable(t *testing.T) {
	operations, illegal := 0, 0
	for history := range *histories {
		all := newHistorian(throttle.Limits{Concurrency: mostSlots}).play(t, history, true)
		operations += len(all)
		if !porcupine.CheckOperations(leaseModel(), all) {
			illegal++
			t.Errorf("history %d is not that of %d leases", history, mostSlots)
		}
	}
	t.Logf("scorecard: row=3 lease=%d operations=%d illegal=%d", *histories, operations, illegal)
}

// The same for a window, with tickets that are settled and cancelled.
func TestQuotasAreLinearizable(t *testing.T) {
	operations, illegal := 0, 0
	for history := range *histories {
		limits := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(mostUnits, window)}}
		all := newHistorian(limits).play(t, history, false)
		operations += len(all)
		if !porcupine.CheckOperations(windowModel(), all) {
			illegal++
			t.Errorf("history %d is not that of a window", history)
		}
	}
	t.Logf("scorecard: row=3 quota=%d operations=%d illegal=%d", *histories, operations, illegal)
}
