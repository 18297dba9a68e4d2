package results

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// position is the end of what was written to a file, and the line there.
type position struct {
	end  int64  // in bytes
	last int64  // length of the last line
	sum  uint32 // of the last line
}

const positionFormat = "%d-%d-%08x"

func (p position) String() string { return fmt.Sprintf(positionFormat, p.end, p.last, p.sum) }

func positionOf(text string) (p position, ok bool) {
	_, err := fmt.Sscanf(text, positionFormat, &p.end, &p.last, &p.sum)
	return p, err == nil && p.String() == text && p.last >= 0 && p.end >= p.last
}

// file is one that is appended to, and cut where an earlier process had come to.
type file struct {
	path  string
	f     *os.File
	out   *bufio.Writer
	at    position
	dirty bool // there is something that is not on disk
	told  bool // a write has failed, and its caller knows of it
}

// openFile opens path for reading and writing, and changes nothing in it. No other
// process may have it open so.
func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // results are for whoever may read the folder
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is being written by another process: wait for it, or give another --out", path), f.Close())
	}
	return &file{path: path, f: f, out: bufio.NewWriterSize(f, 1<<16)}, nil
}

// has reports whether the file has the line of at there.
func (f *file) has(at position) (bool, error) {
	info, err := f.f.Stat()
	if err != nil || info.Size() < at.end {
		return false, err
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(f.f, at.end-at.last, at.last)); err != nil {
		return false, err
	}
	return sum.Sum32() == at.sum, nil
}

// goOn cuts the file behind at.
func (f *file) goOn(at position) error {
	if err := f.f.Truncate(at.end); err != nil {
		return err
	}
	_, err := f.f.Seek(at.end, io.SeekStart)
	f.out.Reset(f.f)
	f.at, f.dirty = at, true
	return err
}

func (f *file) write(line []byte) error {
	if _, err := f.out.Write(line); err != nil {
		f.told = true
		return err
	}
	n := int64(len(line))
	f.at = position{end: f.at.end + n, last: n, sum: crc32.ChecksumIEEE(line)}
	f.dirty = true
	return nil
}

func (f *file) sync() error {
	if !f.dirty {
		return nil
	}
	err := f.out.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	if err == nil {
		err = there(f.f)
	}
	f.told, f.dirty = err != nil, err != nil
	return err
}

// there looks whether the file is where it was opened: what is written into one that was deleted is lost.
func there(f *os.File) error {
	own, err := f.Stat()
	if err != nil || !own.Mode().IsRegular() {
		return err
	}
	if now, err := os.Stat(f.Name()); err != nil || !os.SameFile(own, now) {
		return fmt.Errorf("%s was deleted, moved or replaced on the way: running again writes all of it", f.Name())
	}
	return nil
}

func (f *file) close() error {
	if f == nil || f.f == nil {
		return nil
	}
	var err error
	if !f.told {
		err = f.out.Flush()
	}
	err = errors.Join(err, f.f.Close())
	f.f = nil
	return err
}
