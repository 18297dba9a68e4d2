package download

import (
	"context"
	"io"
)

// readState returns an unknown state, which differs from an empty one, if the state cannot be read.
func (p *part) readState() state {
	text, err := io.ReadAll(io.NewSectionReader(p.lock, 0, maxState))
	if err != nil {
		return unknown
	}
	return decode(text)
}

// resume continues with what the state vouches for, if it belongs to the same download. A part that cannot be read counts as
// missing: the end of ctx is the only error. tell is called as have grows.
func (p *part) resume(ctx context.Context, tell func()) error {
	p.syncedAt = p.config.clock.Elapsed()
	s := p.vouched
	if s.Resource != p.resource || s.Kept < 1 {
		return nil
	}
	p.total = s.Total
	ok, err := p.readAgain(ctx, s.Kept, tell)
	if !ok || p.file.Truncate(s.Kept) != nil { // what comes after was never vouched for
		p.hash.Reset()
		p.have, p.total = 0, -1
		return err
	}
	p.synced, p.validator = s.Kept, s.Validator
	p.syncedAt = p.config.clock.Elapsed()
	return nil
}

// readAgain hashes the first n bytes, which may take minutes.
func (p *part) readAgain(ctx context.Context, n int64, tell func()) (ok bool, err error) {
	buf := make([]byte, min(bufferSize, n))
	for p.have < n {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		got, err := p.file.ReadAt(buf[:min(bufferSize, n-p.have)], p.have)
		_, _ = p.hash.Write(buf[:got]) // never fails
		if p.have += int64(got); got > 0 {
			p.last = buf[got-1]
		}
		if err != nil && p.have < n {
			return false, nil
		}
		tell()
	}
	return true, nil
}
