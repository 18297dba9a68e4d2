// Command playground builds the page in docs/playground: the simulator as
// WebAssembly, and the files that it and the page need. It is what
// make playground calls.
//
// With -serve it serves the page after that, on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

// page is the folder of the page in the repository.
const page = "docs/playground"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the `folder` of the repository")
	out := flags.String("out", "", "the `folder` to write the page to; empty: "+page+" of the repository, which has the rest of it")
	serve := flags.String("serve", "", "an `address` of this machine to serve the page on, such as 127.0.0.1:8089")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	dir, err := build(ctx, *root, *out, stdout)
	if err != nil || *serve == "" {
		return err
	}
	return show(ctx, dir, *serve, stdout)
}

// show serves dir until ctx ends.
func show(ctx context.Context, dir, address string, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(stdout, "the page is at http://%s/ until Ctrl-C\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
