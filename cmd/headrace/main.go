// Headrace does a file of requests at full legal speed, and shows what it knows of providers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

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
		Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGHUP && p.Reload() || p.Passed() {
				continue
			}
			break
		}
		within(time.Second, p.Interrupted)
		stop(run.ErrInterrupted)
		second(signals, p.Patience())
		within(time.Second, p.Abandoned)
		os.Exit(command.Interrupt)
	}()
	status := p.Main(ctx)
	p.End()
	os.Exit(status)
}

// second waits for another signal, and no longer than d: what the program waits for may never come, such as the reader of a pipe.
func second(signals <-chan os.Signal, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-signals:
	case <-timer.C:
	}
}

// within waits for f, and no longer than d: what it says may be read by nobody.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
