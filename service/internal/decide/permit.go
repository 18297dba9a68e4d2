package decide

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// A permit is what a check took, signed, so that any replica with the same key can end
// it, also after a restart: a version, when it was issued, its issuer, the ticket of
// the store, and the checks with their costs. All numbers are varints.
const (
	permitVersion = 1
	macBytes      = 16
	longestPermit = 128 << 10
	clockSlack    = 5 * time.Minute // how far the clocks of replicas may be apart
)

type permits struct {
	macs   *sync.Pool // of *maker
	issuer string     // of this process
	maxAge time.Duration
	once   throttle.Limits // of the mark that a permit has ended
	life   time.Duration   // of the mark
	own    bool            // the store is of this process, and so are its permits
}

func newPermits(key []byte, maxAge time.Duration, own bool) permits {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // it never fails
	}
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte("headrace permit"))
	key = sum.Sum(nil)
	life := maxAge + 2*clockSlack
	return permits{
		&sync.Pool{New: func() any { return &maker{mac: hmac.New(sha256.New, key)} }}, rand.Text()[:8], maxAge,
		throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, life).Of(throttle.Points)}},
		life, own,
	}
}

// maker has what it takes to make a permit. It is used again, because a new HMAC hashes its key first.
type maker struct {
	mac        hash.Hash
	data, text []byte
}

func (p *permits) maker() *maker { return p.macs.Get().(*maker) } //nolint:forcetypeassert // newPermits has made it

// sign appends the signature of b to it.
func (m *maker) sign(b []byte) []byte {
	m.mac.Reset()
	_, _ = m.mac.Write(b)
	return m.mac.Sum(b)[:len(b)+macBytes]
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (p *permits) write(t *quota.Ticket, asks []ask, now time.Time) string {
	m := p.maker()
	defer p.macs.Put(m)
	b := m.data[:0]
	b = append(b, permitVersion)
	b = binary.AppendVarint(b, now.Unix())
	b = appendText(b, p.issuer)
	b = appendText(b, t.ID)
	b = binary.AppendVarint(b, t.At)
	b = binary.AppendVarint(b, t.Token)
	b = binary.AppendUvarint(b, uint64(len(asks)))
	for i := range asks {
		c := asks[i].check
		b = appendText(appendText(appendText(b, c.Scope), c.Identifier), c.Resource)
		b = binary.AppendVarint(binary.AppendVarint(b, c.Tokens), asks[i].cost)
	}
	m.data = m.sign(b)
	m.text = base64.RawURLEncoding.AppendEncode(m.text[:0], m.data)
	return string(m.text)
}

// permit is a permit that was read.
type permit struct {
	mac    []byte // unique among all permits
	local  bool   // what it took is known to the process that issued it alone
	ticket quota.Ticket
	checks []Check
	costs  []int64
}

// read returns the permit of a text. Its error is a *PermitError.
func (p *permits) read(text string, now time.Time) (permit, error) {
	unknown := &PermitError{Problem: "unknown"}
	if len(text) > longestPermit {
		return permit{}, unknown
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= macBytes {
		return permit{}, unknown
	}
	b, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	m := p.maker()
	defer p.macs.Put(m)
	m.data = m.sign(append(m.data[:0], b...))
	if !hmac.Equal(mac, m.data[len(b):]) {
		return permit{}, unknown
	}
	r := reader{b: b}
	version, issued, issuer := r.byte(), r.varint(), r.text()
	x := permit{mac: mac, ticket: quota.Ticket{ID: r.text(), At: r.varint(), Token: r.varint()}}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		c := Check{Scope: r.text(), Identifier: r.text(), Resource: r.text(), Tokens: r.varint()}
		x.checks, x.costs = append(x.checks, c), append(x.costs, r.varint())
		r.bad = r.bad || c.Tokens < 1 || len(x.checks) > MaxTogether
	}
	if r.bad || len(r.b) > 0 || version != permitVersion || len(x.checks) == 0 {
		return permit{}, unknown
	}
	if age := now.Sub(time.Unix(issued, 0)); age > p.maxAge || age < -clockSlack {
		return permit{}, &PermitError{Problem: "expired"}
	}
	x.local = p.own || strings.HasPrefix(x.ticket.ID, localTicket)
	if x.local && issuer != p.issuer {
		return permit{}, unknown
	}
	return x, nil
}

// reader reads what write has written.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) skip(n int) []byte {
	if n <= 0 || n > len(r.b) {
		r.bad = r.bad || n != 0
		return nil
	}
	got := r.b[:n]
	r.b = r.b[n:]
	return got
}

func (r *reader) byte() byte {
	if got := r.skip(1); got != nil {
		return got[0]
	}
	return 0
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.bad = r.bad || n <= 0
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.bad = r.bad || n <= 0
	r.skip(n)
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	return string(r.skip(int(n))) //nolint:gosec // it is at most the length of a slice
}
