//go:build unix

package guide

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A Shell runs the commands of a page as a reader would: all of them
// in one shell, which stops at the first that fails.
type Shell struct {
	Dir     string            // where it begins
	Env     []string          // what it has
	Scratch string            // an empty folder, for the checker's own files
	Edit    *strings.Replacer // what is typed in place of what is printed, such as another port; nil for nothing
	Timeout time.Duration     // for each step
}

// A Result is what became of a step.
type Result struct {
	Output string // of its commands, and of what runs beside them
	Took   time.Duration
	Err    error
}

// driver runs the files named on descriptor 3, and reports on descriptor 4.
const driver = `while read -r file <&3; do . "$file" 3<&- 4>&-; echo >&4; done`

// Run does the steps, and tells report of each, those that are marked as not run
// included. It ends what they have left running. The error is that of the step
// that failed: it ended with another status than 0, or not in time, or did not
// print what the page says.
func (s Shell) Run(ctx context.Context, steps []Step, report func(Step, Result)) error {
	r, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer r.end()
	for _, step := range steps {
		if step.NotRun != "" {
			report(step, Result{})
			continue
		}
		began := time.Now()
		err := r.step(ctx, step)
		output := r.output()
		for _, want := range step.Want {
			if err == nil {
				if differs := Quoted(lines(output), lines(s.edit(strings.Join(want.Lines, "\n")))); differs != nil {
					err = fmt.Errorf("what line %d says is not what it printed: %w", want.Line, differs)
				}
			}
		}
		report(step, Result{Output: output, Took: time.Since(began), Err: err})
		if err != nil {
			return fmt.Errorf("line %d: %w", step.Line, err)
		}
	}
	return nil
}

func (s Shell) edit(text string) string {
	if s.Edit == nil {
		return text
	}
	return s.Edit.Replace(text)
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// running is a shell that was started.
type running struct {
	Shell
	cmd    *exec.Cmd
	said   *os.File
	read   int           // how much of said was read
	files  *os.File      // receives what to run
	done   chan struct{} // it has run a file; closed when it has exited
	exited chan struct{} // closed when it has exited
	err    error         // how it has
}

func (s Shell) start(ctx context.Context) (_ *running, err error) {
	said, err := os.Create(filepath.Join(s.Scratch, "said"))
	if err != nil {
		return nil, err
	}
	in, files, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, said.Close())
	}
	out, done, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, said.Close(), in.Close(), files.Close())
	}
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", driver)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.Stdout, cmd.Stderr = said, said
	cmd.ExtraFiles = []*os.File{in, done}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Start()
	if err = errors.Join(err, in.Close(), done.Close()); err != nil {
		return nil, errors.Join(err, said.Close(), files.Close(), out.Close())
	}
	r := &running{Shell: s, cmd: cmd, said: said, files: files, done: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() { _ = out.Close() }()
		for one := make([]byte, 1); ; {
			if _, err := out.Read(one); err != nil {
				return
			}
			r.done <- struct{}{}
		}
	}()
	go func() {
		defer close(r.exited)
		r.err = cmd.Wait()
	}()
	return r, nil
}

// end ends the shell and what it has left running.
func (r *running) end() {
	_ = r.files.Close()
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM)
	<-r.exited
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	for range r.done {
	}
	_ = r.said.Close()
}

// output is what was printed since it was asked last.
func (r *running) output() string {
	all, err := os.ReadFile(r.said.Name())
	if err != nil {
		return err.Error()
	}
	fresh := all[r.read:]
	r.read = len(all)
	return string(fresh)
}

// step runs the commands of a step. After a background command, the
// next one runs when a server listens at the address in it.
func (r *running) step(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("not done after %s", r.Timeout))
	defer cancel()
	server := regexp.MustCompile(`(127\.0\.0\.1:\d+)\b.* &$`)
	given := strings.ReplaceAll(s.Given, " & ", " &\n")
	typed := strings.Repeat("\n", max(0, s.Line-1-strings.Count(given, "\n"))) // so that the shell names the lines of the page
	for line := range strings.SplitSeq(r.edit(given+"\n"+strings.Join(s.Lines, "\n")), "\n") {
		typed += line + "\n"
		found := server.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if err := r.run(ctx, typed); err != nil {
			return err
		}
		if err := listening(ctx, found[1]); err != nil {
			return err
		}
		typed = strings.Repeat("\n", strings.Count(typed, "\n"))
	}
	return r.run(ctx, typed)
}

// run has the shell run some lines.
func (r *running) run(ctx context.Context, typed string) error {
	file := filepath.Join(r.Scratch, "page")
	if err := os.WriteFile(file, []byte(typed), 0o600); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(r.files, file); err != nil {
		return err
	}
	select {
	case _, ok := <-r.done:
		if ok {
			return nil
		}
		<-r.exited
		if r.err == nil {
			return errors.New("the shell has exited")
		}
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listening waits until a server listens.
func listening(ctx context.Context, address string) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("nothing listens at %s: %w", address, context.Cause(ctx))
		}
	}
}
