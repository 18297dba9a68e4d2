package line

import (
	"time"
)

// arm sets the timer for the turn that has waited longest.
func (l *Lines) arm(now time.Duration) {
	first := l.waiting.first
	if first == nil || l.armed && l.armedFor <= first.since {
		return
	}
	l.armed, l.armedFor = true, first.since
	left := l.left(first, now)
	if l.timer == nil {
		l.timer = l.clock.AfterFunc(left, l.expire)
	} else {
		l.timer.Reset(left)
	}
}

// left is for how long t may still wait.
func (l *Lines) left(t *turn, now time.Duration) time.Duration {
	return max(0, l.maxWait-(now-t.since))
}

// late is the error of a turn that is ahead and has waited for too long.
func (l *Lines) late(t *turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Elapsed()
	return l.of(t.name).late(t, now)
}

// late is the error of a turn that has waited for too long.
func (n *line) late(t *turn, now time.Duration) *WaitError {
	return &WaitError{n.name, now - t.since, n.retryAfter(now)}
}

// expire ends the turns that have waited for too long.
func (l *Lines) expire() {
	var ends []func()
	l.mu.Lock()
	l.armed = false
	now := l.clock.Elapsed()
	for t := l.waiting.first; t != nil && now-t.since >= l.maxWait; t = l.waiting.first {
		n := t.line
		err := n.late(t, now)
		t.err = err
		if ask := t.ask; ask != nil {
			l.waiting.remove(t) // it leaves the line when it returns
			ends = append(ends, func() { l.end(t, ask, err) })
			continue
		}
		n.leave(t, false)
		if n.asking == t {
			n.asking = nil
		}
		t.tell()
		ends = append(ends, n.choose())
	}
	l.arm(now)
	l.mu.Unlock()
	for _, end := range ends {
		end()
	}
}
