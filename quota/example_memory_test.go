package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// A call counts against its user and against the whole service, or against neither.
func ExampleMemoryStore() {
	ctx := context.Background()
	clock := clockwork.NewFakeClock() // in production nil, for the real one
	store := quota.NewMemoryStore(clock)
	call := func(user string) {
		g, err := store.Take(ctx, quota.Request{Demands: []quota.Demand{
			{Key: user, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}}},
			{Key: "service", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(3, time.Second)}}},
		}})
		switch {
		case err != nil:
			fmt.Println(err)
		case g.Wait > 0:
			fmt.Printf("%s: wait for %s, because of demand %d: %s\n", user, g.Wait, g.Demand, g.Bound.Window)
		default:
			fmt.Printf("%s: go\n", user)
		}
	}
	call("ann")
	call("ann")
	call("ann")
	call("bob")
	call("bob")
	clock.Advance(time.Second)
	call("bob")
	// Output:
	// ann: go
	// ann: go
	// ann: wait for 1m0s, because of demand 0: 2/min
	// bob: go
	// bob: wait for 1s, because of demand 1: 3/s
	// bob: go
}

// The lease of a process that died lapses. If the process is alive after all,
// End reports that its slot is taken by another, and a resource that remembers
// the largest token can tell the two apart.
func ExampleMemoryStore_Renew() {
	ctx := context.Background()
	clock := clockwork.NewFakeClock()
	store := quota.NewMemoryStore(clock)
	one := quota.Request{Demands: []quota.Demand{{Key: "import", Limits: throttle.Limits{Concurrency: 1}}}, Lease: time.Minute}
	first, _ := store.Take(ctx, one)
	clock.Advance(40 * time.Second)
	lost, _ := store.Renew(ctx, []quota.Ticket{first.Ticket}, time.Minute)
	fmt.Println("lost:", len(lost))
	clock.Advance(time.Minute)
	second, _ := store.Take(ctx, one)
	fmt.Println("the slot is free:", second.Wait == 0, second.Ticket.Token > first.Ticket.Token)
	err := store.End(ctx, first.Ticket, nil)
	fmt.Println(errors.Is(err, quota.ErrLeaseLost))
	// Output:
	// lost: 0
	// the slot is free: true true
	// true
}

// A Peek returns what a call would have to wait for, and takes nothing.
func ExampleMemoryStore_Take() {
	ctx := context.Background()
	store := quota.NewMemoryStore(clockwork.NewFakeClock())
	api := quota.Demand{Key: "api", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100, time.Minute)}}}
	_, _ = store.Take(ctx, quota.Request{Demands: []quota.Demand{api}})
	_ = store.Cooldown(ctx, "api", 30*time.Second) // after a Retry-After

	g, _ := store.Take(ctx, quota.Request{Demands: []quota.Demand{api}, Peek: true, Uses: true})
	fmt.Println(g.Wait, g.Bound.Kind == throttle.BoundByPause, g.Ticket.ID == "")
	use := g.Uses[0][0]
	fmt.Printf("%s: %d spent, %d left, free again in %s\n", use.Window, use.Spent, use.Left, use.ResetsIn)
	// Output:
	// 30s true true
	// 100/min: 1 spent, 99 left, free again in 1m0s
}
