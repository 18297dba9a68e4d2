package meter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path"
	"time"
)

// version is the first byte of what a Codec writes.
const version = 1

// ErrDamaged is matched by the errors of a Codec for bytes that are not what was written.
var ErrDamaged = errors.New("the checksum is wrong")

// maxZone is the longest name of a time zone, in bytes.
const maxZone = 255

var errLocal = errors.New(`the anchor of a calendar window: time.Local may be another zone in another process; give its zone by name, as time.LoadLocation("Europe/Berlin") does, or take time.UTC`)

// Codec writes and reads Keys: a version, the state, and a CRC-32C of both and
// of the key's name. It is not safe for concurrent use.
type Codec struct {
	Base       time.Time // the instant 0
	zones      map[string]*time.Location
	castagnoli *crc32.Table
}

// NewCodec returns a codec for keys that count from base.
func NewCodec(base time.Time) *Codec {
	return &Codec{base, map[string]*time.Location{"": time.UTC, "UTC": time.UTC}, crc32.MakeTable(crc32.Castagnoli)}
}

// Append appends the key of that name to b.
func (c *Codec) Append(b []byte, name string, k *Key) []byte {
	from := len(b)
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(k.Concurrency)) //nolint:gosec // not negative
	b = binary.AppendVarint(b, int64(k.Cooled))
	b = binary.AppendUvarint(b, uint64(len(k.Slots)))
	for _, s := range k.Slots {
		b = binary.AppendVarint(b, s.Token)
		b = binary.AppendVarint(b, int64(s.Ends))
	}
	b = binary.AppendUvarint(b, uint64(len(k.Gauges)))
	for i := range k.Gauges {
		g := &k.Gauges[i]
		b = appendWindow(b, &g.Window)
		b = binary.AppendVarint(b, g.since)
		b = g.meter.append(b)
	}
	return binary.LittleEndian.AppendUint32(b, c.sum(b[from:], name))
}

// Read returns the key of that name. If b is not what was written, the error
// matches ErrDamaged; that of a later version or an unknown time zone does not.
func (c *Codec) Read(b []byte, name string) (*Key, error) {
	const sumSize = 4
	end := len(b) - sumSize
	if end < 1 || binary.LittleEndian.Uint32(b[end:]) != c.sum(b[:end], name) {
		return nil, ErrDamaged
	}
	if b[0] != version {
		return nil, fmt.Errorf("they have the version %d, and this release knows %d; use a later release", b[0], version)
	}
	r := reader{b: b[1:end]}
	k := &Key{Concurrency: r.count(math.MaxInt), Cooled: r.instant()}
	for range r.count(len(r.b)) {
		k.Slots = append(k.Slots, Slot{r.varint(), r.instant()})
	}
	for range r.count(len(r.b)) {
		w, err := c.window(&r)
		if err != nil {
			return nil, err
		}
		g := New(w, c.Base, 0, r.varint())
		g.meter.read(&r)
		k.Gauges = append(k.Gauges, g)
	}
	if r.bad || len(r.b) > 0 {
		return nil, ErrDamaged
	}
	return k, nil
}

func (c *Codec) sum(b []byte, name string) uint32 {
	return crc32.Update(crc32.Checksum(b, c.castagnoli), c.castagnoli, []byte(name))
}

func appendWindow(b []byte, w *Window) []byte {
	b = append(b, byte(w.Kind), w.Unit)
	b = binary.AppendVarint(b, w.Max)
	if w.Kind == TokenBucket {
		return appendFloat(b, w.Rate)
	}
	b = binary.AppendVarint(b, int64(w.Per))
	if w.Kind != CalendarWindow {
		return b
	}
	b = binary.AppendVarint(b, w.Anchor.Unix())
	b = binary.AppendUvarint(b, uint64(w.Anchor.Nanosecond())) //nolint:gosec // not negative
	zone, offset := Zone(w.Anchor)
	b = binary.AppendVarint(b, int64(offset))
	b = binary.AppendUvarint(b, uint64(len(zone)))
	return append(b, zone...)
}

func (c *Codec) window(r *reader) (w Window, err error) {
	w = Window{Kind: Kind(r.byte()), Unit: r.byte(), Max: r.varint()}
	switch w.Kind {
	case TokenBucket:
		w.Rate = r.float()
	case SlidingWindow, CalendarWindow:
		w.Per = r.instant()
	default:
		r.bad = true
	}
	if w.Kind == CalendarWindow {
		w.Anchor = time.Unix(r.varint(), int64(r.count(int(time.Second)))).UTC()
		offset, zone := int(r.varint()), r.text(r.count(len(r.b)))
		loc, err := c.zone(zone, offset)
		if err != nil && !r.bad {
			return w, err
		}
		if loc != nil {
			w.Anchor = w.Anchor.In(loc)
		}
	}
	if r.bad || int(w.Unit) >= len(Amounts{}) || w.Max < 1 || w.Kind != TokenBucket && w.Per <= 0 || w.Kind == TokenBucket && !(w.Rate > 0) {
		return w, ErrDamaged
	}
	return w, nil
}

// Knows returns the error of Read for a calendar window with this anchor, if its
// time zone cannot be found by its name.
func (c *Codec) Knows(anchor time.Time) error {
	_, err := c.zone(Zone(anchor))
	return err
}

// Zone returns what Location finds the zone of t by: its name, or none and its offset if its clocks never change.
func Zone(t time.Time) (name string, offset int) {
	if loc := t.Location(); loc == time.UTC || !isFixed(t) {
		return loc.String(), 0
	}
	_, offset = t.Zone()
	return "", offset
}

// Location finds a time zone by its name, which may read a file, or makes one that is always so many seconds
// east of UTC. Its error names the remedy.
func Location(name string, offset int) (*time.Location, error) {
	switch {
	case name == "" && offset != 0:
		return time.FixedZone("", offset), nil
	case name == "Local":
		return nil, errLocal
	case name != "" && path.Clean(name) != name, len(name) > maxZone:
		// Readers cache the zones that they have loaded, and Europe/./Berlin is one of endless spellings of one zone.
		return nil, fmt.Errorf("the anchor of a calendar window: %.100q is not the name of a time zone; use one that time.LoadLocation accepts, such as Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the anchor of a calendar window: %w; install tzdata on this host, or import time/tzdata, or take time.UTC", err)
	}
	return loc, nil
}

// zone is Location that loads each zone once.
func (c *Codec) zone(name string, offset int) (*time.Location, error) {
	if loc := c.zones[name]; loc != nil && (name != "" || offset == 0) {
		return loc, nil
	}
	loc, err := Location(name, offset)
	if err == nil && name != "" {
		c.zones[name] = loc
	}
	return loc, err
}

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

// reader reads what Append wrote. After the first invalid value it is bad and
// returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) instant() Instant { return Instant(r.varint()) }

// count is not negative, and not above most.
func (r *reader) count(most int) int {
	x, n := binary.Uvarint(r.b)
	if n <= 0 || x > uint64(most) { //nolint:gosec // not negative
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return int(x) //nolint:gosec // not above it
}

func (r *reader) float() float64 {
	text := r.text(8)
	if len(text) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(text)))
}

func (r *reader) byte() byte {
	if text := r.text(1); text != "" {
		return text[0]
	}
	return 0
}

func (r *reader) text(n int) string {
	if n > len(r.b) {
		r.fail()
		return ""
	}
	text := string(r.b[:n])
	r.b = r.b[n:]
	return text
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (m *Sliding) append(b []byte) []byte {
	b = binary.AppendVarint(b, int64(m.gone))
	kept := 0
	for i := range m.len {
		if m.at(i).n > 0 {
			kept++
		}
	}
	b = binary.AppendUvarint(b, uint64(kept))
	last := Instant(0)
	for i := range m.len {
		if s := m.at(i); s.n > 0 {
			b = binary.AppendVarint(b, int64(s.at-last))
			b = binary.AppendVarint(b, s.n)
			last = s.at
		}
	}
	return b
}

func (m *Sliding) read(r *reader) {
	m.gone = r.instant()
	last := Instant(0)
	for range r.count(len(r.b)) {
		last += r.instant()
		m.push(stamp{last, r.varint()})
	}
}

func (m *Bucket) append(b []byte) []byte {
	b = binary.AppendVarint(b, int64(m.full))
	b = appendFloat(b, m.frac)
	b = binary.AppendVarint(b, int64(m.taken))
	b = binary.AppendVarint(b, int64(m.brim))
	b = binary.AppendUvarint(b, uint64(len(m.lows)))
	for _, l := range m.lows {
		b = binary.AppendVarint(b, int64(l.at))
		b = appendFloat(b, l.missing)
	}
	return b
}

func (m *Bucket) read(r *reader) {
	m.full, m.frac, m.taken, m.brim = r.instant(), r.float(), r.instant(), r.instant()
	n := r.count(maxLows)
	if n > 0 {
		m.lows = make([]low, 0, maxLows)
	}
	for range n {
		m.lows = append(m.lows, low{r.instant(), r.float()})
	}
}

func (m *calendar) append(b []byte) []byte {
	for _, t := range []Instant{m.begin, m.end, m.counts, m.lates} {
		b = binary.AppendVarint(b, int64(t))
	}
	b = binary.AppendVarint(b, m.sum)
	return binary.AppendVarint(b, m.late)
}

func (m *calendar) read(r *reader) {
	m.begin, m.end, m.counts, m.lates = r.instant(), r.instant(), r.instant(), r.instant()
	m.sum, m.late = r.varint(), r.varint()
}
