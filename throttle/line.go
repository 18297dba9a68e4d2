package throttle

import (
	"encoding/binary"
)

// line is the calls that need the same limiters, first come, first served. Only
// the first of them is queued.
type line struct {
	key        string
	head, tail *joint // head is queued
	len        int    // those behind the head
}

// queueLocked puts j into its line and, if it is the first one there, into the
// queue of its first limiter.
func (j *joint) queueLocked() {
	l := j.parts[0].limiter
	var buffer [64]byte
	key := buffer[:0]
	for i := range j.parts {
		key = binary.LittleEndian.AppendUint64(key, j.parts[i].limiter.id)
	}
	n := l.lines[string(key)]
	if n == nil {
		n = &line{key: string(key)}
		if l.lines == nil {
			l.lines = map[string]*line{}
		}
		l.lines[n.key] = n
	}
	j.line = n
	j.parts[0].since = l.nowLocked()
	if n.head == nil {
		n.head = j
		j.comeForwardLocked()
		return
	}
	n.add(j)
	l.lined++
}

// add puts j behind those that have an earlier place, or the same.
func (n *line) add(j *joint) {
	n.len++
	place := j.parts[0].place
	if place == lastPlace || n.head.next == nil {
		if n.tail == nil {
			n.head.next = j
		} else {
			n.tail.next = j
		}
		n.tail = j
		return
	}
	before := n.head
	for before.next != nil && before.next.parts[0].place <= place {
		before = before.next
	}
	j.next, before.next = before.next, j
	if j.next == nil {
		n.tail = j
	}
}

// remove takes j out of the line, and reports whether it was the head.
func (n *line) remove(j *joint) (head bool) {
	if n.head == j {
		n.head = j.next
		if n.head == nil || n.head.next == nil {
			n.tail = nil
		}
		j.next = nil
		return true
	}
	for before := n.head; before != nil; before = before.next {
		if before.next != j {
			continue
		}
		if before.next = j.next; n.tail == j {
			if n.tail = before; before == n.head {
				n.tail = nil
			}
		}
		n.len--
		j.parts[0].limiter.lined--
		j.next = nil
		return false
	}
	return false
}

// forwardLocked has the next of a line come forward, or forgets the line. Its
// other limiters may not be locked: it is tried when this lock is given up.
func (l *Limiter) forwardLocked(n *line) {
	if n.head == nil {
		delete(l.lines, n.key)
		return
	}
	n.len--
	l.lined--
	n.head.comeForwardLocked()
}

// comeForwardLocked queues j, which is the first of its line. All its limiters
// are locked: those of a line have the same ones.
func (j *joint) comeForwardLocked() {
	l := j.parts[0].limiter
	j.at, j.blocked = 0, l
	l.addFrontLocked(&j.parts[0])
	l.tries = append(l.tries, j)
}
