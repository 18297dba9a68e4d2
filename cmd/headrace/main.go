// Headrace calls rate-limited APIs as fast as their limits allow. Its commands send files of requests, run a proxy or a
// rate limit service, and examine running programs.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // limits name time zones, which neither Windows nor an empty container knows

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes what follows a response there, which may contain the key
	signal.Ignore(ignored...) // a write to a closed pipe returns an error instead
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	p := &command.Program{
		Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	go func() {
		listen(signals, p, stop)
		os.Exit(command.Interrupt)
	}()
	status := p.Main(ctx)
	p.End()
	os.Exit(status)
}

// listen stops p at the first signal. It returns when p has to end at once: at the second signal, or if p takes too long.
func listen(signals <-chan os.Signal, p *command.Program, stop context.CancelCauseFunc) {
	for s := range signals {
		if s == syscall.SIGHUP && p.Reload() || p.Passed() {
			continue
		}
		break
	}
	go func() {
		within(time.Second, p.Interrupted)
		stop(run.ErrInterrupted)
	}()
	second(signals, p.Patience())
	within(time.Second, p.Abandoned)
}

// repeated is how long after the first signal another one counts as a copy of it. GNU timeout, and npm after Ctrl-C, send each signal
// twice.
const repeated = 500 * time.Millisecond

// second waits for another signal, at most for d. The program may be waiting for something that never happens, such as a reader of a pipe.
func second(signals <-chan os.Signal, d time.Duration) {
	timer, began := time.NewTimer(d), time.Now()
	defer timer.Stop()
	for {
		select {
		case <-signals:
			if time.Since(began) >= repeated {
				return
			}
		case <-timer.C:
			return
		}
	}
}

// within runs f and waits for it, at most for d: its output may block, because nothing reads it.
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
