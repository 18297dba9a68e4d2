//go:build unix

package spawn

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Catch begins to keep the signals for a command. Those that were ignored when this process began stay ignored, for
// the command too. Release ends it.
func Catch() *Signals {
	s := &Signals{caught: make(chan os.Signal, 64)}
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(s.caught, sig)
		}
	}
	// An ignored SIGPIPE would be inherited, and one with its default would end this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return s
}

// Release ends what Catch began.
func (s *Signals) Release() { signal.Stop(s.caught) }

// typed reports whether a signal comes from the terminal, which sends it to all processes of the foreground.
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

// status is the exit status, and whether an interrupt was the reason.
func status(p *os.ProcessState) (status int, interrupted bool) {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalled + int(w.Signal()), w.Signal() == syscall.SIGINT
	}
	return p.ExitCode(), false
}

// Interrupt ends this process as an interrupt ends one that does not handle it: a shell that runs a script or a loop
// then ends that, too.
func Interrupt() {
	if os.Getpid() == 1 { // the system sends it none
		return
	}
	signal.Reset(syscall.SIGINT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	<-time.NewTimer(time.Second).C
}
