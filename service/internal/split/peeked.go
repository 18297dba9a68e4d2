package split

import (
	"bytes"
	"errors"
	"net"

	"golang.org/x/net/http2"
)

// peeked is a connection from which the first bytes were already read. After rewind it begins with them again.
type peeked struct {
	net.Conn

	looking bool
	seen    []byte     // what was read while looking
	ready   []byte     // what is to be read before the rest of the connection
	filter  *ackFilter // of the rest; nil: nothing is taken out
}

// preface reads up to the preface of HTTP/2, and reports whether it is there.
func (p *peeked) preface() (bool, error) {
	buf := make([]byte, len(http2.ClientPreface))
	for n := 0; n < len(buf); {
		m, err := p.Conn.Read(buf[n:])
		n += m
		if !bytes.HasPrefix([]byte(http2.ClientPreface), buf[:n]) {
			p.ready = buf[:n]
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	p.looking, p.seen = true, buf
	return true, nil
}

// rewind ends the looking. The acknowledgement of settings that were sent meanwhile is taken out if a filter is set.
func (p *peeked) rewind() {
	p.looking, p.ready, p.seen = false, p.seen, nil
	if p.filter != nil {
		p.feed(p.ready, nil)
	}
}

func (p *peeked) feed(b, to []byte) {
	p.ready = p.filter.feed(to, b)
	if p.filter.done {
		p.filter = nil
	}
}

// maxSeen is how many bytes are kept of a connection before it has a server, up to a read more.
const maxSeen = 64 << 10

var errSeen = errors.New("split: too many bytes before a request")

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) {
	if p.looking {
		if len(p.seen) >= maxSeen {
			return 0, errSeen
		}
		n, err := p.Conn.Read(b)
		p.seen = append(p.seen, b[:n]...)
		return n, err
	}
	for p.filter != nil && len(p.ready) == 0 {
		buf := make([]byte, 4<<10)
		n, err := p.Conn.Read(buf)
		p.feed(buf[:n], nil)
		if err != nil && len(p.ready) == 0 {
			return 0, err
		}
	}
	if len(p.ready) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.ready)
	if p.ready = p.ready[n:]; len(p.ready) == 0 {
		p.ready = nil
	}
	return n, nil
}

// ackFilter takes the first acknowledgement of settings out of what a client sends behind its preface.
type ackFilter struct {
	left   int               // bytes of the preface or of the payload of a frame, which pass
	header [frameHeader]byte // of the next frame
	have   int               // bytes of header, which are held back
	done   bool
}

const frameHeader = 9

func newAckFilter() *ackFilter { return &ackFilter{left: len(http2.ClientPreface)} }

// feed appends what passes of b.
func (f *ackFilter) feed(to, b []byte) []byte {
	for len(b) > 0 {
		if f.done {
			return append(to, b...)
		}
		if f.left > 0 {
			n := min(f.left, len(b))
			to, b, f.left = append(to, b[:n]...), b[n:], f.left-n
			continue
		}
		n := copy(f.header[f.have:], b)
		b, f.have = b[n:], f.have+n
		if f.have < frameHeader {
			break
		}
		h := &f.header
		f.have, f.left = 0, int(h[0])<<16|int(h[1])<<8|int(h[2])
		f.done = f.left == 0 && http2.FrameType(h[3]) == http2.FrameSettings && http2.Flags(h[4]).Has(http2.FlagSettingsAck)
		if !f.done {
			to = append(to, h[:]...)
		}
	}
	return to
}
