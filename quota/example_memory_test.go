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
		g, err := store.Take(ctx, []quota.Demand{
			{Key: user, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}}},
			{Key: "service", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(3, time.Second)}}},
		}, 0)
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

// The lease of a holder that died lapses. If it lives after all, it learns
// that its slot is somebody else's, and a resource that remembers the largest
// token can tell the two apart.
func ExampleMemoryStore_Renew() {
	ctx := context.Background()
	clock := clockwork.NewFakeClock()
	store := quota.NewMemoryStore(clock)
	one := []quota.Demand{{Key: "import", Limits: throttle.Limits{Concurrency: 1}}}
	first, _ := store.Take(ctx, one, time.Minute)
	clock.Advance(40 * time.Second)
	lost, _ := store.Renew(ctx, []quota.Ticket{first.Ticket}, time.Minute)
	fmt.Println("lost:", len(lost))
	clock.Advance(time.Minute)
	second, _ := store.Take(ctx, one, time.Minute)
	fmt.Println("the slot is free:", second.Wait == 0, second.Ticket.Token > first.Ticket.Token)
	err := store.End(ctx, first.Ticket, nil)
	fmt.Println(errors.Is(err, quota.ErrLeaseLost))
	// Output:
	// lost: 0
	// the slot is free: true true
	// true
}

// Peek says what a call would have to wait for, and takes nothing.
func ExampleMemoryStore_Peek() {
	ctx := context.Background()
	store := quota.NewMemoryStore(clockwork.NewFakeClock())
	_ = store.Cooldown(ctx, "api", 30*time.Second) // somebody was told to wait
	g, _ := store.Peek(ctx, []quota.Demand{{Key: "api"}})
	fmt.Println(g.Wait, g.Bound.Kind == throttle.BoundByPause, g.Ticket.ID == "")
	// Output:
	// 30s true true
}
