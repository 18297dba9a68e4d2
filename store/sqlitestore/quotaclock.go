package sqlitestore

import (
	"bytes"
	"encoding/binary"
	"time"
)

// quotaClock is the time of the store, in nanoseconds since 1970, and the last token.
type quotaClock struct{ at, wall, token int64 }

// mostAhead is how far the store's time waits for a clock that was set back, at half speed. If it is further ahead, the
// clock was wrong before: the store's time goes on at full speed, and calendars follow the clock.
const mostAhead = int64(24 * time.Hour)

func (c *quotaClock) farAhead() bool { return c.at-c.wall > mostAhead }

// tick never steps back. While the host's clock is behind, because it was set
// back, the store's runs half as fast until it has caught up, unless it is far ahead. It reports whether
// it was set back, which has to be written: the next tick counts from there.
func (c *quotaClock) tick(wall int64) (setBack bool) {
	setBack = wall < c.wall
	switch {
	case wall >= c.at:
		c.at = wall
	case wall > c.wall && c.farAhead():
		c.at += wall - c.wall
	case wall > c.wall:
		c.at += (wall - c.wall) / 2
	}
	c.wall = wall
	return setBack
}

// base is the instant 0 of calendars by the host's clock.
func (c *quotaClock) base() time.Time {
	if c.farAhead() {
		return epoch().Add(time.Duration(c.wall - c.at))
	}
	return epoch()
}

// append appends the clock and its sum to b.
func (c *quotaClock) append(b []byte) []byte {
	for _, n := range []int64{c.at, c.wall, c.token, int64(sum(0).numbers(c.at, c.wall, c.token))} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n)) //nolint:gosec // all 64 bits of it
	}
	return b
}

// read reports whether b is a clock.
func (c *quotaClock) read(b []byte) bool {
	if len(b) != 4*8 {
		return false
	}
	for i, n := range []*int64{&c.at, &c.wall, &c.token} {
		*n = int64(binary.LittleEndian.Uint64(b[8*i:])) //nolint:gosec // all 64 bits of it
	}
	return bytes.Equal(b, c.append(nil))
}
