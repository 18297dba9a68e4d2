package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/throttle"
)

// Every process that runs this shares 500 requests per minute and 20 calls in flight.
func ExampleOpen() {
	_ = func(ctx context.Context, call func(context.Context) (string, error)) error {
		store, err := redisstore.Open("redis://localhost:6379/0")
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // leases lapse
		g, err := guard.New(guard.Policy{
			Name:   "openai",
			Limits: throttle.Limits{Concurrency: 20, Windows: []throttle.Window{throttle.Sliding(500, time.Minute)}},
			Store:  store,
		})
		if err != nil {
			return err
		}
		text, err := guard.Get(ctx, g, throttle.Cost{}, call)
		fmt.Println(text)
		return err
	}
	// Output:
}
