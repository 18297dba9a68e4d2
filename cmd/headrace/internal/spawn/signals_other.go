//go:build !unix

package spawn

import (
	"os"
	"os/signal"
)

// Catch begins to queue signals for a command. Release ends it.
func Catch() *Signals {
	s := &Signals{caught: make(chan os.Signal, 64)}
	signal.Notify(s.caught, os.Interrupt)
	return s
}

// Release ends what Catch began.
func (s *Signals) Release() { signal.Stop(s.caught) }

// typed reports whether the command receives a signal by itself: all processes of a console do.
func typed(os.Signal) bool { return true }

func status(p *os.ProcessState) (status int, interrupted bool) { return p.ExitCode(), false }

// Interrupt does nothing, because shells do not check for it.
func Interrupt() {}
