package client

// line holds refused calls in a ring: those that are first again enter at the
// front, those that were kept in their slot at the back.
type line struct {
	ring  []*Call
	front int
	len   int
}

func (l *line) first() *Call { return l.ring[l.front] }

func (l *line) pop() *Call {
	c := l.ring[l.front]
	l.ring[l.front] = nil
	l.front = (l.front + 1) % len(l.ring)
	l.len--
	return c
}

func (l *line) pushFront(c *Call) {
	l.grow()
	l.front = (l.front + len(l.ring) - 1) % len(l.ring)
	l.ring[l.front] = c
	l.len++
}

func (l *line) pushBack(c *Call) {
	l.grow()
	l.ring[(l.front+l.len)%len(l.ring)] = c
	l.len++
}

func (l *line) grow() {
	if l.len < len(l.ring) {
		return
	}
	ring := make([]*Call, max(16, 2*len(l.ring)))
	for i := range l.len {
		ring[i] = l.ring[(l.front+i)%len(l.ring)]
	}
	l.ring, l.front = ring, 0
}
