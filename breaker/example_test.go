package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
)

func Example() {
	clock := clockwork.NewFakeClock() // a program leaves this out
	b, err := breaker.New(breaker.Config{Name: "search", Failures: 2, Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := errors.New("no route to host")
	call := func() error {
		return b.Do(context.Background(), func(context.Context) error { return answer })
	}
	fmt.Println(call())
	fmt.Println(call())

	clock.Advance(4 * time.Second)
	err = call() // not called any more
	fmt.Println(err)
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		clock.Advance(open.RetryAfter)
	}
	answer = nil
	fmt.Println(call(), b.Stats().State)
	fmt.Println(call(), b.Stats().State)
	// Output:
	// no route to host
	// no route to host
	// breaker: "search": open, retry after 6s; it opened because of: no route to host
	// <nil> half-open
	// <nil> closed
}

func ExampleConfig_Validate() {
	fmt.Println(breaker.Config{Failures: -1, Open: time.Hour, MaxOpen: time.Minute}.Validate())
	// Output:
	// breaker: Failures: -1; want at least 1, or 0 for 5
	// breaker: Open: 1h0m0s is longer than MaxOpen, 1m0s
}

// A transport knows how a call went when its response is there, and gives the
// place back without a verdict where no request went out.
func ExampleBreaker_Allow() {
	b, _ := breaker.New(breaker.Config{})
	ticket, err := b.Allow(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ticket.Cancel() // does nothing once it has ended
	fmt.Println(b.Stats().InFlight)
	fmt.Println(ticket.End(context.Background(), nil), ticket.End(context.Background(), nil))
	fmt.Println(b.Stats().InFlight)
	// Output:
	// 1
	// true false
	// 0
}

// Errors that answer the call are no failures of the server.
func ExampleDefaultClassify() {
	errBadRequest := errors.New("bad request")
	b, _ := breaker.New(breaker.Config{Failures: 1, Classify: func(err error) breaker.Outcome {
		if errors.Is(err, errBadRequest) {
			return breaker.Success
		}
		return breaker.DefaultClassify(err)
	}})
	for _, err := range []error{errBadRequest, context.Canceled, errors.New("bad gateway")} {
		_ = b.Do(context.Background(), func(context.Context) error { return err })
		fmt.Println(err, b.Stats().State)
	}
	// Output:
	// bad request closed
	// context canceled closed
	// bad gateway open
}

func ExampleConfig_observer() {
	clock := clockwork.NewFakeClock()
	b, _ := breaker.New(breaker.Config{
		Name: "search", Failures: 1, Successes: 1, Clock: clock,
		Observer: event.Func(func(e event.Event) { fmt.Println(e.Source, e.Kind, e.Wait) }),
	})
	for _, err := range []error{errors.New("down"), errors.New("down"), nil} {
		_ = b.Do(context.Background(), func(context.Context) error { return err })
		clock.Advance(b.Stats().RetryAfter)
	}
	// Output:
	// search breaker.opened 10s
	// search breaker.half-open 0s
	// search breaker.opened 20s
	// search breaker.half-open 0s
	// search breaker.closed 0s
}

func ExampleBreaker_Reset() {
	b, _ := breaker.New(breaker.Config{Failures: 1})
	_ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	fmt.Println(b.Stats().State)
	b.Reset() // after a repair
	fmt.Println(b.Stats().State)
	// Output:
	// open
	// closed
}
