package group_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A service leads, and processes on any hosts join it.
func ExampleNewHandler() {
	h, err := group.NewHandler(group.HandlerConfig{})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	mux := http.NewServeMux()
	mux.Handle(group.Path, h)
	server := httptest.NewServer(mux) // in a service: with TLS, behind what checks tokens
	defer server.Close()

	ctx := context.Background()
	g, err := group.Join(ctx, server.URL) // in another process: https://limits.internal:8790
	if err != nil {
		panic(err)
	}
	defer g.Close()
	acme, err := g.Guard(guard.Policy{Name: "acme"})
	if err != nil {
		panic(err)
	}
	err = acme.Do(ctx, throttle.Cost{}, func(context.Context) error {
		fmt.Println("called")
		return nil
	})
	fmt.Println(err, g.Stats().Role, h.Stats().Members)
	// Output:
	// called
	// <nil> following 1
}
