package download

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// publish makes the part the target.
func (p *part) publish() error {
	if err := p.settleMode(); err != nil {
		return err
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

// settleMode gives the part the permissions of the target, unless it was made with them.
func (p *part) settleMode() error {
	mode := p.mode
	if !p.exact {
		if !p.found {
			return nil
		}
		var err error
		if mode, err = p.masked(); err != nil {
			return err
		}
	}
	return p.file.Chmod(mode)
}

// masked returns the mode minus the umask. Reading the umask would set it for the whole process, so a temporary file shows it.
func (p *part) masked() (fs.FileMode, error) {
	d, name := p.config.disk, p.name+".mode"
	if err := d.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	f, err := d.open(name, p.mode)
	if err != nil {
		return 0, err
	}
	info, failed := f.Stat()
	if err := errors.Join(failed, f.Close(), d.remove(name)); err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}
