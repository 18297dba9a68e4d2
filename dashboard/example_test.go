package dashboard_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/event"
)

func ExampleServe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	d, err := dashboard.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	ctx = event.With(ctx, d) // for the list of events
	_ = ctx                  // make calls with it, for example through headrace.Transport
	// Output:
}
