// Headrace does a file of requests at full legal speed, and shows what it knows of providers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

func main() {
	signal.Ignore(ignored...) // a write fails instead
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	p := &command.Program{
		Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	go func() {
		<-signals
		p.Interrupted()
		stop(run.ErrInterrupted)
		<-signals
		p.Abandoned()
		os.Exit(command.Interrupt)
	}()
	os.Exit(p.Main(ctx))
}
