//go:build unix

package spawn

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Catch begins to queue signals for a command. Signals that were ignored when this process started stay ignored, also by
// the command. Release ends it.
func Catch() *Signals {
	s := &Signals{caught: make(chan os.Signal, 64)}
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(s.caught, sig)
		}
	}
	// The command would inherit an ignored SIGPIPE, and the default action would end this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return s
}

// Release ends what Catch began.
func (s *Signals) Release() { signal.Stop(s.caught) }

// typed reports whether a signal comes from the terminal, which sends it to all foreground processes.
func typed(sig os.Signal) bool {
	return (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && foreground()
}

// foreground reports whether this process is in the foreground of a terminal.
func foreground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = tty.Close() }()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// status returns the exit status, and whether an interrupt was the cause.
func status(p *os.ProcessState) (status int, interrupted bool) {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalled + int(w.Signal()), w.Signal() == syscall.SIGINT
	}
	return p.ExitCode(), false
}

// Interrupt ends this process in the same way as an unhandled interrupt, so that a shell also stops the script or loop
// that it runs.
func Interrupt() {
	if os.Getpid() == 1 { // the system does not send it one
		return
	}
	signal.Reset(syscall.SIGINT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	<-time.NewTimer(time.Second).C
}
