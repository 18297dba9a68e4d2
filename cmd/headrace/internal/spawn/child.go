// Package spawn runs a command on behalf of this process: with the same streams, terminal and signals, and with the same
// exit status.
package spawn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

// The terminal signals this process and the command at the same time. The runtime delivers a signal in much less time than this.
const lateness = time.Second

// The exit statuses of a command that does not start, as in shells.
const (
	NotExecutable = 126
	NotFound      = 127
	signalled     = 128 // plus the signal
)

// Command is a command to run. Streams that are files are inherited directly.
type Command struct {
	Name           string
	Args           []string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	path string
}

// StartError is the reason why a command did not start.
type StartError struct {
	Name   string
	Status int // NotFound or NotExecutable
	Err    error
}

// Error names the command.
func (e *StartError) Error() string {
	if e.Status == NotFound {
		return e.Name + ": command not found"
	}
	return fmt.Sprintf("%s: cannot be executed: %v", e.Name, e.Err)
}

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// Find looks the command up in PATH. The error is a *StartError.
func (c *Command) Find() error {
	path, err := exec.LookPath(c.Name)
	if errors.Is(err, exec.ErrDot) { // shells accept it too
		err = nil
	}
	if err != nil {
		return c.failed(err)
	}
	c.path = path
	return nil
}

func (c *Command) failed(err error) error {
	status := NotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) && c.path == "" {
		status = NotFound
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	} else if inner := (*exec.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return &StartError{Name: c.Name, Status: status, Err: err}
}

// End is how a command ended.
type End struct {
	Status   int  // of a command that was killed by signal n: 128+n
	Terminal bool // it was killed by an interrupt that the terminal also sent to this process
}

// Run starts the command that Find has found, and returns when it has ended. Signals that arrive meanwhile are passed
// on, except those that the terminal sends to the command itself. The error is a *StartError.
func (c *Command) Run(signals *Signals) (End, error) {
	cmd := exec.Cmd{Path: c.path, Args: append([]string{c.Name}, c.Args...), Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}
	if err := cmd.Start(); err != nil {
		return End{}, c.failed(err)
	}
	done := make(chan struct{})
	passed := make(chan bool)
	go func() { passed <- signals.pass(cmd.Process, done) }()
	_ = cmd.Wait() // the process state holds the result
	close(done)
	terminal := <-passed
	status, interrupted := status(cmd.ProcessState)
	if interrupted && !terminal {
		terminal = signals.late()
	}
	return End{Status: status, Terminal: terminal && interrupted}, nil
}

// Signals holds signals for the command. They are queued from the time they are caught.
type Signals struct {
	caught chan os.Signal
}

// late reports whether an interrupt from the terminal arrives here only after it has ended the command.
func (s *Signals) late() bool {
	timer := time.NewTimer(lateness)
	defer timer.Stop()
	for {
		select {
		case sig := <-s.caught:
			if typed(sig) {
				return true
			}
		case <-timer.C:
			return false
		}
	}
}

// pass forwards caught signals until done. It reports whether the terminal sent an interrupt.
func (s *Signals) pass(p *os.Process, done <-chan struct{}) (terminal bool) {
	for {
		select {
		case <-done:
			for len(s.caught) > 0 {
				terminal = typed(<-s.caught) || terminal
			}
			return terminal
		case sig := <-s.caught:
			if typed(sig) {
				terminal = true
				continue
			}
			_ = p.Signal(sig) // it may just have ended
		}
	}
}
