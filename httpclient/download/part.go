package download

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
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

func statePath(target string) string { return partPath(target) + ".json" }

func partPath(target string) string {
	folder, base := filepath.Split(target)
	return folder + "." + base + ".part"
}

// openPart takes the lock and what an earlier call has left.
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
	p.resume()
	p.syncedAt = c.clock.Elapsed()
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
		return fmt.Errorf("the target is no file (%v)", info.Mode())
	}
}

func (p *part) open() error {
	mode := p.mode
	if p.exact {
		mode = 0o600 // until it is published
	}
	f, err := p.config.disk.open(p.name, mode)
	if errors.Is(err, fs.ErrPermission) { // it was about to be published as a file that is only read
		if err = p.config.disk.remove(p.name); err == nil {
			f, err = p.config.disk.open(p.name, mode)
		}
	}
	if err != nil {
		return err
	}
	p.file = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file (%v)", p.name, info.Mode())
	}
	if old := info.Mode().Perm(); old&^mode != 0 {
		return f.Chmod(old & mode)
	}
	return nil
}

// readState returns what nobody knows, not even that it is nothing, if the state cannot be read.
func (p *part) readState() state {
	text, err := io.ReadAll(io.NewSectionReader(p.lock, 0, maxState))
	if err != nil {
		return unknown
	}
	return decode(text)
}

// resume takes over what the state vouches for, if it is about the same
// thing. A part that cannot be read is no worse than none.
func (p *part) resume() {
	s := p.vouched
	if s.Resource != p.resource || s.Validator == "" || s.Kept < 1 {
		return
	}
	if n, err := io.Copy(p.hash, io.NewSectionReader(p.file, 0, s.Kept)); err != nil || n != s.Kept {
		return
	}
	var last [1]byte
	if _, err := p.file.ReadAt(last[:], s.Kept-1); err != nil {
		return
	}
	if p.file.Truncate(s.Kept) != nil { // what comes after was never vouched for
		return
	}
	p.have, p.synced, p.last, p.validator, p.total = s.Kept, s.Kept, last[0], s.Validator, s.Total
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

func (p *part) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if _, err := p.file.WriteAt(b, p.have); err != nil {
		return err
	}
	_, _ = p.hash.Write(b) // never fails
	p.have += int64(len(b))
	p.last = b[len(b)-1]
	if p.have-p.synced < p.config.syncSize && p.config.clock.Elapsed()-p.syncedAt < defaultSyncTime {
		return nil
	}
	return p.keep()
}

// keep makes what is there last, if a later call can use it.
func (p *part) keep() error {
	if !p.resumable() || p.vouched.Kept == p.have {
		return nil
	}
	if err := p.sync(); err != nil {
		return err
	}
	err := p.vouch(state{Resource: p.resource, Validator: p.validator, Kept: p.have, Total: p.total})
	p.syncedAt = p.config.clock.Elapsed()
	if err != nil || p.named {
		return err
	}
	p.named = true // both files are new: their names have to last too
	return p.config.disk.syncDir(filepath.Dir(p.config.target))
}

// sync is tried once: after a failure the kernel may drop what it could not
// write, and a second sync then succeeds.
func (p *part) sync() error {
	if p.unsure != nil {
		return p.unsure
	}
	if p.synced == p.have && p.have > 0 {
		return nil
	}
	if p.unsure = p.file.Sync(); p.unsure == nil {
		p.synced = p.have
	}
	return p.unsure
}

// vouch overwrites the state in place, which needs no room on a full disk.
func (p *part) vouch(s state) error {
	p.vouched = unknown // it may be torn
	if _, err := p.lock.WriteAt(s.encode(), 0); err != nil {
		return err
	}
	if err := p.lock.Sync(); err != nil {
		return err
	}
	p.vouched = s
	return nil
}

// publish makes the part the target.
func (p *part) publish() error {
	if p.exact {
		if err := p.file.Chmod(p.mode); err != nil {
			return err
		}
	}
	if err := p.sync(); err != nil {
		return err
	}
	p.closed = true
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := p.config.disk.rename(p.name, p.config.target); err != nil {
		return err
	}
	p.name = "" // it is the target now
	err := p.config.disk.syncDir(filepath.Dir(p.config.target))
	_ = p.close(true) // a state that stays vouches for nothing
	return err
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
	return kept, errors.Join(err, p.close(p.vouched.Kept <= 0)) // what is left of another resource stays
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
