package redisstore_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/throttle"
)

// Two replicas of a service that run this, each with a URL of its own, have one leader.
func ExampleStore_Election() {
	_ = func(mux *http.ServeMux) error {
		store, err := redisstore.Open("redis://localhost:6379/0")
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // the lease lapses
		h, err := group.NewHandler(group.HandlerConfig{
			Election: store.Election("group"),
			URL:      "https://replica-1.internal:8790/v1/group",
		})
		if err != nil {
			return err
		}
		defer h.Close() // before the store
		mux.Handle(group.Path, h)
		return http.ListenAndServeTLS(":8790", "cert.pem", "key.pem", mux)
	}
	// Output:
}

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
