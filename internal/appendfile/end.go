package appendfile

import (
	"fmt"
	"io"
	"os"
)

// End writes at the end of a file. If another program truncates the file or appends to it, the next write would leave a gap or
// overwrite what is there, so lines would be lost without an error.
type End struct {
	file   *os.File
	begun  bool
	at     int64 // in bytes
	failed error // of Check, for later writes
}

// EndOf returns an End of f that checks nothing until Begin is called.
func EndOf(f *os.File) *End { return &End{file: f} }

// Begin cuts the file at that length, where the next write goes. A pipe or a device is left as it is.
func (e *End) Begin(at int64) error {
	if info, err := e.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := e.file.Truncate(at); err != nil {
		return err
	}
	_, err := e.file.Seek(at, io.SeekStart)
	e.at, e.begun, e.failed = at, true, nil
	return err
}

// Write implements io.Writer. It writes nothing if the file has another length than after the last write.
func (e *End) Write(p []byte) (int, error) {
	if err := e.Check(); err != nil || e.failed != nil {
		return 0, e.failed
	}
	n, err := e.file.Write(p)
	e.at += int64(n)
	return n, err
}

// Check returns an error if the file has another length than after the last write. It returns each error once.
func (e *End) Check() error {
	if e.begun && e.failed == nil {
		e.failed = e.changed()
		return e.failed
	}
	return nil
}

func (e *End) changed() error {
	info, err := e.file.Stat()
	if err == nil && info.Size() != e.at {
		err = fmt.Errorf("%s was truncated or extended by another program while it was being written: running again writes all of it", e.file.Name())
	}
	return err
}
