package download

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"testing/fstest"
)

// memDisk is a disk in memory that can fail or lose its power at any call.
type memDisk struct {
	names   map[string]*inode // as programs see them
	durable map[string]*inode // as they are after a loss of power
	calls   int
	failAt  int // the call that fails, from 1
	dieAt   int // the call at which the power goes, from 1
	failed  string
}

type inode struct {
	data, durable []byte
	mode          fs.FileMode
	locked        bool
}

// errPower is what the call that loses its power panics with.
var errPower = errors.New("power is gone")

func newMemDisk() *memDisk {
	return &memDisk{names: map[string]*inode{}, durable: map[string]*inode{}}
}

func (d *memDisk) put(name, text string) {
	n := &inode{data: []byte(text), durable: []byte(text), mode: 0o644}
	d.names[name], d.durable[name] = n, n
}

// read is the target's text.
func (d *memDisk) read() string {
	if n := d.names["f"]; n != nil {
		return string(n.data)
	}
	return "(none)"
}

func (d *memDisk) list() []string { return slices.Sorted(maps.Keys(d.names)) }

// call counts, and is how every one of them fails.
func (d *memDisk) call(what string) error {
	d.calls++
	if d.calls == d.dieAt {
		panic(errPower)
	}
	if d.calls == d.failAt {
		d.failed = what
		return &fs.PathError{Op: what, Path: "x", Err: syscall.ENOSPC}
	}
	return nil
}

// lose is what a loss of power leaves: names as they were or are, and of each file what was synced, with
// anything in place of what was not. choose draws from 0 to n-1, for
// a file or, with "", for the names.
func (d *memDisk) lose(choose func(name string, n int) int) *memDisk {
	after := newMemDisk()
	names := d.durable
	if choose("", 2) == 0 {
		names = d.names
	}
	for name, n := range names {
		b := slices.Clone(n.durable)
		switch choose(name, 3) {
		case 0: // nothing of the rest came to the disk
		case 1: // all of it
			b = slices.Clone(n.data)
		case 2: // its length and some of its blocks
			for i, c := range n.data {
				if i >= len(b) {
					b = append(b, 0)
				}
				if (i/7)%2 == 0 {
					b[i] = c
				}
			}
		}
		after.put(name, string(b))
		after.names[name].mode = n.mode
	}
	return after
}

func (d *memDisk) lstat(name string) (fs.FileInfo, error) {
	if err := d.call("lstat"); err != nil {
		return nil, err
	}
	n := d.names[name]
	if n == nil {
		return nil, fs.ErrNotExist
	}
	return (&memFile{disk: d, inode: n}).info()
}

func (d *memDisk) make(name string, perm fs.FileMode) *inode {
	if d.names[name] == nil {
		d.names[name] = &inode{mode: perm}
	}
	return d.names[name]
}

func (d *memDisk) lock(name string) (file, error) {
	if err := d.call("lock"); err != nil {
		return nil, err
	}
	n := d.make(name, 0o600)
	if n.locked {
		return nil, ErrBusy
	}
	n.locked = true
	return &memFile{d, n}, nil
}

func (d *memDisk) unlock(f file, name string, remove bool) error {
	f.(*memFile).inode.locked = false
	err := d.call("unlock")
	if remove && err == nil {
		delete(d.names, name)
	}
	return err
}

func (d *memDisk) open(name string, perm fs.FileMode) (file, error) {
	if err := d.call("open"); err != nil {
		return nil, err
	}
	n := d.make(name, perm)
	if n.mode&0o600 != 0o600 {
		return nil, fs.ErrPermission
	}
	return &memFile{d, n}, nil
}

func (d *memDisk) unseal(name string) error {
	if err := d.call("unseal"); err != nil {
		return err
	}
	d.names[name].mode = 0o600
	return nil
}

func (d *memDisk) rename(from, to string) error {
	if err := d.call("rename"); err != nil {
		return err
	}
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *memDisk) remove(name string) error {
	if err := d.call("remove"); err != nil {
		return err
	}
	delete(d.names, name)
	return nil
}

func (d *memDisk) syncDir(string) error {
	if err := d.call("syncDir"); err != nil {
		return err
	}
	d.durable = maps.Clone(d.names)
	return nil
}

type memFile struct {
	disk  *memDisk
	inode *inode
}

func (f *memFile) info() (fs.FileInfo, error) {
	return fs.Stat(fstest.MapFS{"x": {Data: f.inode.data, Mode: f.inode.mode}}, "x")
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	if err := f.disk.call("stat"); err != nil {
		return nil, err
	}
	return f.info()
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.disk.call("read"); err != nil {
		return 0, err
	}
	if off >= int64(len(f.inode.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.inode.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes half of it when it fails, as a full disk does.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	err := f.disk.call("write")
	if err != nil {
		p = p[:len(p)/2]
	}
	if grow := int(off) + len(p) - len(f.inode.data); grow > 0 {
		f.inode.data = append(slices.Clip(f.inode.data), make([]byte, grow)...)
	}
	return copy(f.inode.data[off:], p), err
}

func (f *memFile) Truncate(size int64) error {
	if err := f.disk.call("truncate"); err != nil {
		return err
	}
	f.inode.data = slices.Clone(f.inode.data[:min(size, int64(len(f.inode.data)))])
	return nil
}

func (f *memFile) Sync() error {
	if err := f.disk.call("sync"); err != nil {
		return err
	}
	f.inode.durable = slices.Clone(f.inode.data)
	return nil
}

func (f *memFile) Chmod(mode fs.FileMode) error {
	if err := f.disk.call("chmod"); err != nil {
		return err
	}
	f.inode.mode = mode
	return nil
}

func (f *memFile) Close() error { return f.disk.call("close") }
