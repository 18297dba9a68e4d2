package dashboard_test

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/registry"
)

func ExampleServe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	d, err := dashboard.Serve(ctx, "127.0.0.1:8788")
	if err != nil {
		fmt.Println(err)
		return
	}
	// Make calls through headrace.Transport, and look at http://127.0.0.1:8788.
	d.Close()
}

func ExampleNew() {
	_ = summarise(context.Background(), registry.Default(), func(context.Context) error { return nil })
}

func summarise(ctx context.Context, limits *registry.Registry, work func(context.Context) error) error {
	d, err := dashboard.New(dashboard.Config{Title: "summaries", Registry: limits, Token: os.Getenv("HEADRACE_TOKEN")})
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Listen(ctx, "127.0.0.1:8788"); err != nil {
		return err
	}
	ctx = event.With(ctx, d)
	return work(ctx)
}
