package download

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"time"
)

// part is the file beside the target, and the state that vouches for it. It belongs to one call, which has the lock.
type part struct {
	config *config
	name   string // of the file
	lock   file   // the state, which is the lock too
	file   file
	closed bool // file is
	mode   fs.FileMode
	exact  bool // mode is that of the target to be replaced
	found  bool // file was there, with the permissions that another call wanted

	hash      hash.Hash // of the first have bytes
	have      int64     // bytes that are there
	last      byte      // of them
	synced    int64     // of them, bytes that are on the disk for certain
	unsure    error     // why a sync failed: what it was to write may be lost, whatever a later one says
	resource  string
	validator validator // of the version that they belong to
	total     int64     // of that version; -1: not known

	vouched  state // what the state file says, or unknown
	named    bool  // the names of both files are on the disk
	stale    bool  // the server has something else
	syncedAt time.Duration
}

// openPart takes the lock and opens what an earlier call has left.
func openPart(c *config) (*part, error) {
	p := &part{config: c, name: partPath(c.target), mode: c.mode, hash: c.sum.new(), resource: hashOf(c.resource), total: -1}
	if err := p.lookAtTarget(); err != nil {
		return nil, err
	}
	var err error
	if p.lock, err = c.disk.lock(statePath(c.target)); err != nil {
		return nil, err
	}
	p.vouched = p.readState()
	if err = p.open(); err != nil {
		return nil, errors.Join(err, p.close(p.vouched.Kept == 0))
	}
	return p, nil
}

// lookAtTarget refuses what a rename would replace by mistake.
func (p *part) lookAtTarget() error {
	info, err := p.config.disk.lstat(p.config.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		if !p.config.modeSet {
			p.mode, p.exact = info.Mode().Perm(), true
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return nil
	default:
		return fmt.Errorf("the target is not a file (%v)", info.Mode())
	}
}

func (p *part) open() error {
	mode := p.mode
	if p.exact {
		mode = 0o600 // until it is published
	}
	f, err := p.openOrMake(mode)
	if err != nil {
		return err
	}
	p.file = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file (%v)", p.name, info.Mode())
	}
	if old := info.Mode().Perm(); old&^mode != 0 {
		return f.Chmod(old & mode)
	}
	return nil
}

// openOrMake frees a part that was about to be published as a file that is only read.
func (p *part) openOrMake(mode fs.FileMode) (file, error) {
	d := p.config.disk
	info, err := d.lstat(p.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.found = err == nil
	f, err := d.open(p.name, mode)
	if !p.found || !info.Mode().IsRegular() {
		return f, err
	}
	for _, free := range []func(string) error{d.unseal, d.remove} {
		if !errors.Is(err, fs.ErrPermission) {
			break
		}
		if free(p.name) == nil {
			f, err = d.open(p.name, mode)
		}
	}
	return f, err
}

// resumable reports whether a later request can go on from what is there. One
// byte is not enough: it would be asked for again.
func (p *part) resumable() bool { return p.have > 1 && p.validator != "" }

// whole reports whether nothing is missing.
func (p *part) whole() bool { return p.have == p.total }

// forget lets the next request ask for everything. The bytes stay until others come.
func (p *part) forget() { p.validator, p.stale = "", true }

// begin replaces what is there. Before other bytes are written nothing may vouch for those that were.
func (p *part) begin(v validator, total int64) error {
	if p.vouched.Kept != 0 {
		if err := p.vouch(state{Total: -1}); err != nil {
			return err
		}
	}
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	p.hash.Reset()
	p.have, p.synced, p.validator, p.total, p.stale = 0, 0, v, total, false
	return nil
}

// leave keeps what a later call can use, unless it is spoilt, and says how much that is.
func (p *part) leave(spoilt bool) (kept int64, err error) {
	if p.lock == nil { // published
		return 0, nil
	}
	if spoilt || p.stale {
		return 0, p.close(true)
	}
	err = p.keep()
	if p.vouched.Resource == p.resource {
		kept = p.vouched.Kept
	}
	return kept, errors.Join(err, p.close(p.vouched.Kept <= 0)) // what vouches for another resource stays
}

// close ends the lock, and removes both files if nothing is kept. It does nothing the second time.
func (p *part) close(remove bool) error {
	if p.lock == nil {
		return nil
	}
	var errs []error
	if p.file != nil && !p.closed {
		p.closed = true
		errs = append(errs, p.file.Close())
	}
	if remove && p.file != nil && p.name != "" {
		errs = append(errs, p.config.disk.remove(p.name))
	}
	errs = append(errs, p.config.disk.unlock(p.lock, statePath(p.config.target), remove))
	p.lock = nil
	return errors.Join(errs...)
}
