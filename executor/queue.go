package executor

import "slices"

// place is the position of a task in its executor.
type place uint8

const (
	nowhere place = iota
	inRoom        // it waits for room
	inQueue
	taken // it is running or has ended
)

// list is an intrusive FIFO of tasks: it allocates nothing, and removing a task from the middle takes constant time.
type list struct {
	head, tail *record
	len        int
}

// push adds t, which is in no list and has no neighbours.
func (l *list) push(t *record) {
	if l.tail == nil {
		l.head = t
	} else {
		t.prev, l.tail.next = l.tail, t
	}
	l.tail = t
	l.len++
}

// append moves all tasks of m to the end of l.
func (l *list) append(m *list) {
	if l.tail == nil {
		*l = *m
	} else {
		l.tail.next, m.head.prev = m.head, l.tail
		l.tail = m.tail
		l.len += m.len
	}
	*m = list{}
}

// remove takes t out. It does not write to the task behind the head, which another processor may have in its cache: the head
// may have a prev that was removed.
func (l *list) remove(t *record) {
	switch t {
	case l.head:
		if l.head = t.next; l.head == nil {
			l.tail = nil
		}
	case l.tail:
		l.tail = t.prev
		l.tail.next = nil
	default:
		t.prev.next, t.next.prev = t.next, t.prev
	}
	t.prev, t.next = nil, nil
	l.len--
}

// level is the tasks of one priority, the first that came first.
type level struct {
	priority int32
	tasks    list
}

// queue returns tasks by priority, the highest first, and in order of arrival within a priority. It is a list per priority
// rather than a heap: with the usual one or two priorities every operation takes constant time, however long the queue is.
type queue struct {
	levels []*level // the highest priority first; none is empty but perhaps the only one
	len    int
}

// find is where the level of a priority is, or belongs.
func (q *queue) find(priority int32) (i int, found bool) {
	if len(q.levels) > 0 && q.levels[0].priority == priority {
		return 0, true
	}
	return slices.BinarySearchFunc(q.levels, priority, func(l *level, p int32) int {
		switch {
		case l.priority > p:
			return -1
		case l.priority < p:
			return 1
		}
		return 0
	})
}

func (q *queue) push(t *record) {
	q.of(t.priority).push(t)
	q.len++
}

// append moves all tasks of l, which have the priority 0, to the end of those that have it.
func (q *queue) append(l *list) {
	if l.len > 0 {
		q.len += l.len
		q.of(0).append(l)
	}
}

// of returns the tasks of a priority.
func (q *queue) of(priority int32) *list {
	i, found := q.find(priority)
	switch {
	case found:
	case len(q.levels) == 1 && q.levels[0].tasks.len == 0:
		i, q.levels[0].priority = 0, priority
	default:
		q.levels = slices.Insert(q.levels, i, &level{priority: priority})
	}
	return &q.levels[i].tasks
}

// head returns the next task, or nil if there is none.
func (q *queue) head() *record {
	if q.len == 0 {
		return nil
	}
	return q.levels[0].tasks.head
}

func (q *queue) remove(t *record) {
	i, _ := q.find(t.priority)
	q.levels[i].tasks.remove(t)
	q.len--
	if q.levels[i].tasks.len == 0 && len(q.levels) > 1 {
		q.levels = slices.Delete(q.levels, i, i+1)
	}
}

// after returns the task that follows t, or nil if t is the last.
func (q *queue) after(t *record) *record {
	if t.next != nil {
		return t.next
	}
	i, _ := q.find(t.priority)
	if i+1 < len(q.levels) {
		return q.levels[i+1].tasks.head
	}
	return nil
}
