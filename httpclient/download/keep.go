package download

import "path/filepath"

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
