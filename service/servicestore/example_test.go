package servicestore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/throttle"
)

// exampleServer serves a store in memory, and returns its address and what stops it.
func exampleServer() (address string, stop func()) {
	s, err := service.New(context.Background(), service.Config{Text: []byte("{}")})
	if err != nil {
		log.Fatal(err)
	}
	l, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() {
		cancel()
		if err := <-served; err != nil {
			log.Print(err)
		}
		_ = s.Close()
	}
}

// Guards in two processes share a limit through a server.
func Example() {
	address, stop := exampleServer()
	defer stop()
	policy := guard.Policy{Name: "openai", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(3, time.Hour)}}}
	for range 2 { // processes
		store, err := servicestore.Open(address)
		if err != nil {
			log.Panic(err)
		}
		policy.Store = store
		g, err := guard.New(policy)
		if err != nil {
			log.Panic(err)
		}
		for range 2 { // calls
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			err = g.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil })
			fmt.Println(err == nil)
			cancel()
		}
		_ = store.Close()
	}
	// Output:
	// true
	// true
	// true
	// false
}

// A registry opens the store that its configuration names.
func ExampleOpen() {
	address, stop := exampleServer()
	defer stop()
	c, err := registry.Parse("store: service:" + address + "; openai: 500/min")
	if err != nil {
		log.Panic(err)
	}
	c.Open = map[string]registry.Opener{"service": registry.OpenStore(servicestore.Open, servicestore.WithTimeout(time.Minute))}
	r, err := registry.New(c)
	if err != nil {
		log.Panic(err)
	}
	err = r.For("openai").Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	fmt.Println(err, r.Close())
	// Output: <nil> <nil>
}
