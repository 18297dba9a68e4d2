// Command stage runs a command as one stage of make, and prints what it does at least every 15 seconds:
//
//	go run ./internal/stage tests go test ./...
//
// The packages of a go test are reported as each ends, in any order, because one slow package would otherwise hide the
// results of those after it. Only tests that fail have their output printed, or all of them with -v.
//
// With -again, a few tests that fail are run five times more, each alone, and then their packages once. If all of that
// passes, the stage passes, and its last line names the tests as unstable: what failed depends on chance or on load, and
// needs a repair, but does not hide the rest. A data race, a panic, a leak, a timeout or a package that does not build is never repeated.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// A process that a test leaves behind may keep the output open.
const leftBehind = 10 * time.Second

func main() {
	args := os.Args[1:]
	again := len(args) > 0 && args[0] == "-again"
	if again {
		args = args[1:]
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: stage [-again] NAME COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	if again {
		os.Exit(runAgain(os.Stdout, args[0], args[1:]))
	}
	os.Exit(run(os.Stdout, args[0], args[1:]))
}

// runAgain is run, and then the few tests that failed, again.
func runAgain(out io.Writer, name string, args []string) (status int) {
	b := &board{out: out, name: name}
	if status = b.run(args); status == 0 {
		return 0
	}
	unstable := b.again()
	if !repeat(out, unstable, args) {
		return status
	}
	fmt.Fprintf(out, "== %s: passed, but UNSTABLE (failed once, then passed %d times alone): %s\n", name, repetitions, list(unstable))
	return 0
}

// run returns the exit status of the command.
func run(out io.Writer, name string, args []string) (status int) {
	return (&board{out: out, name: name}).run(args)
}

func (b *board) run(args []string) (status int) {
	out, name := b.out, b.name
	b.verbose = slices.Contains(args, "-v")
	fmt.Fprintf(out, "== %s: %v\n", name, args)
	if len(args) > 1 && args[0] == "go" && args[1] == "test" {
		args = slices.Insert(slices.Clone(args), 2, "-json")
	}
	lines, done := make(chan []byte), make(chan struct{})
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...) //nolint:gosec // a command of the Makefile
	stdout, stderr := &splitter{lines: lines}, &splitter{lines: lines}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, leftBehind
	var err error
	go func() {
		defer close(done)
		if err = cmd.Run(); !errors.Is(err, exec.ErrWaitDelay) { // else they may still be written to
			stdout.flush()
			stderr.flush()
		}
	}()
	b.follow(lines, done)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		status = max(1, ended.ExitCode()) // killed is -1
	} else if err != nil {
		fmt.Fprintln(out, err)
		status = 1
	}
	b.end(status == 0)
	return status
}

// splitter sends whole lines on. It is used by one goroutine at a time.
type splitter struct {
	lines chan<- []byte
	rest  []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		at := slices.Index(s.rest, '\n')
		if at < 0 {
			return len(p), nil
		}
		s.lines <- slices.Clone(s.rest[:at+1])
		s.rest = s.rest[at+1:]
	}
}

func (s *splitter) flush() {
	if len(s.rest) > 0 {
		s.lines <- append(s.rest, '\n')
	}
}
