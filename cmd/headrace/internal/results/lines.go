package results

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/internal/appendfile"
)

// Lines writes results from the beginning, one after the other. It is used for files that cannot be truncated, such as
// pipes, and for results in the order of the requests.
type Lines struct {
	out, errs io.Writer
	files     []file
	format    requests.Format
}

// file is an open file, and its end.
type file struct {
	*os.File

	end *appendfile.End
}

// Stdout is the path of standard output.
const Stdout = "-"

// Opener calls open, which opens the file at path and may wait for the other end of a pipe.
type Opener func(path string, open func() (*os.File, error)) (*os.File, error)

// OpenLines opens both files for lines of the format, one after the other, and does not change them yet. Out may be "-" for stdout.
func OpenLines(out, errs string, stdout io.Writer, format requests.Format, opener Opener) (*Lines, error) {
	l := &Lines{out: stdout, format: format}
	if out != Stdout {
		f, err := opener(out, func() (*os.File, error) { return open(out, "--out") })
		if err != nil {
			return nil, fmt.Errorf("the results cannot be written: %w", err)
		}
		l.out = l.add(f)
	}
	f, err := opener(errs, func() (*os.File, error) { return open(errs, "--errors") })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the failures cannot be written: %w", err), l.Close())
	}
	l.errs = l.add(f)
	return l, nil
}

func (l *Lines) add(f *os.File) io.Writer {
	end := appendfile.EndOf(f)
	l.files = append(l.files, file{f, end})
	return end
}

func open(path, flag string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // the user names it
		if err != nil {
			return nil, another(err, flag)
		}
		return f, nil
	}
	f, err := openFile(path, flag)
	if err != nil {
		return nil, err
	}
	return f.Detach(), nil
}

// Begin empties files that can be truncated.
func (l *Lines) Begin() error {
	for _, f := range l.files {
		if err := f.end.Begin(0); err != nil {
			return err
		}
	}
	return nil
}

// Write writes one result.
func (l *Lines) Write(r *Result) error {
	text, failed := lineOf(r, l.format)
	to, name := l.out, "results"
	if failed {
		to, name = l.errs, "failures"
	}
	if _, err := to.Write(text); err != nil {
		return fmt.Errorf("the %s cannot be written: %w", name, err)
	}
	return nil
}

// Close closes both files, and removes those without a line.
func (l *Lines) Close() error {
	var err error
	for _, f := range l.files {
		err = errors.Join(err, f.end.Check(), appendfile.Present(f.File), appendfile.CloseUsed(f.File))
	}
	return err
}
