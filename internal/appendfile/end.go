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
	last   byte  // before at
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
	if _, err := e.file.Seek(at, io.SeekStart); err != nil {
		return err
	}
	e.at, e.begun, e.failed = at, true, nil
	if at > 0 {
		last, err := e.before(at)
		e.last = last
		return err
	}
	return nil
}

// Write implements io.Writer. It writes nothing if the file has another length than after the last write.
func (e *End) Write(p []byte) (int, error) {
	if err := e.Check(); err != nil || e.failed != nil {
		return 0, e.failed
	}
	return e.put(p)
}

// put writes p, and fails if there is a gap of zeros before it, because the file was truncated after the check.
func (e *End) put(p []byte) (int, error) {
	n, err := e.file.Write(p)
	if err == nil && e.begun && e.at > 0 {
		if last, readErr := e.before(e.at); readErr != nil || last != e.last {
			e.failed = e.otherwise()
			return 0, e.failed
		}
	}
	if n > 0 {
		e.last = p[n-1]
	}
	e.at += int64(n)
	return n, err
}

// before returns the byte before a position above 0.
func (e *End) before(at int64) (byte, error) {
	var b [1]byte
	_, err := e.file.ReadAt(b[:], at-1)
	return b[0], err
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
		err = e.otherwise()
	}
	return err
}

func (e *End) otherwise() error {
	return fmt.Errorf("%s was truncated or extended by another program while it was being written: running again writes all of it", e.file.Name())
}
