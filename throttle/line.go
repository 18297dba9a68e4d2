package throttle

import (
	"encoding/binary"
	"slices"
	"time"
)

// line is the calls that need the same limiters, first come, first served. Only
// the first of them is queued. It is found through the limiter that is locked
// first, and locked like the calls in it.
type line struct {
	home       *Limiter
	key        string
	parts      []*Limiter // the most specific limiter first, as the first call had them
	head, tail *joint     // head is queued
	sum        amounts    // of all
}

// lineKey appends what names the line of a call.
func lineKey(key []byte, order []*Limiter) []byte {
	for _, l := range order {
		key = binary.LittleEndian.AppendUint64(key, l.id)
	}
	return key
}

// lineOf is the line of a call that needs these limiters; nil if it stands in the
// queue of a single one, empty if no other call waits for the same.
func lineOf(order []*Limiter) *line {
	if len(order) == 1 {
		return nil
	}
	var buffer [64]byte
	if n := order[0].lines[string(lineKey(buffer[:0], order))]; n != nil {
		return n
	}
	return &line{}
}

// joinLocked finds the line of j, or makes it.
func (j *joint) joinLocked() {
	home := j.order[0]
	var buffer [64]byte
	key := lineKey(buffer[:0], j.order)
	if j.line = home.lines[string(key)]; j.line != nil {
		slices.SortFunc(j.parts, func(a, b part) int {
			return slices.Index(j.line.parts, a.limiter) - slices.Index(j.line.parts, b.limiter)
		})
		return
	}
	j.line = &line{home: home, key: string(key)}
	for i := range j.parts {
		j.line.parts = append(j.line.parts, j.parts[i].limiter)
	}
}

// queueLocked puts j into its line and, if it is the first one there, into the
// queue of its first limiter.
func (j *joint) queueLocked() {
	n := j.line
	n.sum.add(&j.load.of)
	for _, l := range j.order {
		l.joined++
	}
	for i := range j.parts {
		p := &j.parts[i]
		p.asked = p.limiter.nowLocked()
	}
	j.parts[0].since = j.parts[0].asked
	if n.head != nil && j.parts[0].place >= n.head.parts[0].place {
		n.add(j)
		return
	}
	if n.head != nil {
		n.head.stepBackLocked()
		j.next, n.head = n.head, j
		if n.tail == nil {
			n.tail = j.next
		}
		j.comeForwardLocked()
		return
	}
	if n.home.lines == nil {
		n.home.lines = map[string]*line{}
	}
	n.home.lines[n.key], n.head = n, j
	j.comeForwardLocked()
}

// add puts j behind those that have an earlier place, or the same.
func (n *line) add(j *joint) {
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
	n.sum.subtract(&j.load.of)
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
		j.next = nil
		return false
	}
	return false
}

// forwardLocked has the next of the line come forward, or forgets the line.
func (n *line) forwardLocked() {
	if n.head == nil {
		delete(n.home.lines, n.key)
		return
	}
	n.head.comeForwardLocked()
}

// stepBackLocked undoes comeForwardLocked, for a call with an earlier place.
func (j *joint) stepBackLocked() {
	for i := range j.parts[:j.at+1] {
		j.parts[i].limiter.removeFrontLocked(&j.parts[i])
	}
	j.at = -1
	j.forgetHeadLocked()
}

func (j *joint) forgetHeadLocked() {
	for _, l := range j.order {
		if i := slices.Index(l.heads, j); i >= 0 {
			l.heads = slices.Delete(l.heads, i, i+1)
		}
	}
}

// comeForwardLocked queues j, which is the first of its line. All its limiters
// are locked: those of a line have the same ones.
func (j *joint) comeForwardLocked() {
	l := j.parts[0].limiter
	j.came = jointIDs.Add(1)
	j.at, j.blocked, j.turn, j.never, j.room = 0, l, false, false, time.Time{}
	l.addFrontLocked(&j.parts[0])
	for _, o := range j.order {
		o.heads = append(o.heads, j)
	}
	l.tryLaterLocked(j)
}
