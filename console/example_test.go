package console_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// An option of flow.Run shows a run. On a terminal it is redrawn in place; here it is
// not one, so there are lines.
func Example() {
	d, err := console.New(console.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = d.Close() }()
	ask := node.Do("ask", func(context.Context, node.None) error { return nil })
	_, err = flow.Run(context.Background(), ask, node.None{}, d.Watch())
	fmt.Println(err)
	// Output: <nil>
}

// Without a flow the events are counted.
func ExampleDisplay_Observe() {
	d, err := console.New(console.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = d.Close() }()
	double := node.Map("double", func(_ context.Context, i int) (int, error) { return 2 * i, nil })
	fmt.Println(double.All(event.With(context.Background(), d), []int{1, 2, 3}))
	// Output: [2 4 6] <nil>
}

// A queue, or another program, has snapshots of its own.
func ExampleDisplay_Show() {
	d, err := console.New(console.Config{Output: os.Stdout, Mode: console.Plain})
	if err != nil {
		fmt.Println(err)
		return
	}
	d.Show(event.Progress{
		Name: "queue", Elapsed: 90 * time.Second, Final: true,
		Items: event.Items{Total: 1200, Done: 1197, Failed: 3, Retries: 11},
	})
	fmt.Println(d.Close())
	// Output:
	// queue: finished in 1m30s, 1,200 of 1,200 (100%), 3 failed, 11 retries, 13.3/s on average
	// <nil>
}

// A log is printed above the display, and does not tear it.
func ExampleDisplay_Writer() {
	d, err := console.New(console.Config{Output: os.Stdout, Mode: console.Off})
	if err != nil {
		fmt.Println(err)
		return
	}
	log := slog.New(slog.NewTextHandler(d.Writer(), &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log.Info("half way")
	fmt.Println(d.Close())
	// Output:
	// level=INFO msg="half way"
	// <nil>
}

// A mode is a flag.
func ExampleMode() {
	var mode console.Mode
	flags := flag.NewFlagSet("prog", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&mode, "progress", console.Auto, "auto, tty, plain, json or off")
	fmt.Println(flags.Parse([]string{"-progress", "json"}), mode)
	fmt.Println(flags.Parse([]string{"-progress", "loud"}))
	// Output:
	// <nil> json
	// invalid value "loud" for flag -progress: console: "loud" is no mode: use auto, tty, plain, json or off
}
