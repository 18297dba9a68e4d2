package command

import (
	"io"
	"os"
)

// told is standard output. It keeps the first write error, so that the program can report it at the end.
type told struct {
	to  io.Writer
	err error // the first one
}

// Write implements io.Writer.
func (t *told) Write(text []byte) (int, error) {
	n, err := t.to.Write(text)
	if t.err == nil {
		t.err = err
	}
	return n, err
}

// lost reports whether what is written may be lost without an error.
func (t *told) lost() bool {
	f, ok := t.to.(*os.File)
	return ok && reopened(f)
}

// Stat describes the file behind it.
func (t *told) Stat() (os.FileInfo, error) {
	if f, ok := t.to.(*os.File); ok {
		return f.Stat()
	}
	return nil, os.ErrInvalid
}
