package questions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Program is a program without its surroundings: getenv reads its environment,
// out takes the figures, progress the rest.
type Program func(ctx context.Context, args []string, getenv func(string) string, out, progress io.Writer) error

// Main runs a program by its name, until it ends or is interrupted, and exits with status 1 if it fails.
func Main(name string, run Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for running calls
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
