package executor

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/throttle"
)

// noteKind is the subject of a note. The steps that every task goes through are not noted: the times of its states show them.
type noteKind uint8

const (
	noteWaited  noteKind = iota // for the limits
	noteRefused                 // for rate
	noteRetry
	noteOpen // the breaker rejected the call
)

// note is one unusual event in the life of a task.
type note struct {
	at    time.Duration
	kind  noteKind
	wait  time.Duration
	bound throttle.Bound
	err   error
}

// keptNotes is how many notes a task has at most: the first, and the latest.
const keptNotes = 12

func (t *record) note(n note) {
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteLocked(now, n)
}

func (t *record) noteLocked(now time.Duration, n note) {
	n.at = now
	c := t.courseLocked()
	if len(c.notes) < keptNotes {
		c.notes = append(c.notes, n)
		return
	}
	copy(c.notes[1:], c.notes[2:])
	c.notes[keptNotes-1] = n
	c.dropped++
}

// text returns the note as text, without the secrets.
func (n *note) text(secrets []string) string {
	switch n.kind {
	case noteWaited:
		return fmt.Sprintf("waited %s for %s", round(n.wait), boundBy(n.bound))
	case noteRefused:
		s := "rejected for rate, waits for the next attempt"
		if n.wait > 0 {
			s = fmt.Sprintf("rejected for rate, waits %s or longer for the next attempt", round(n.wait))
		}
		if n.err == nil { // the call said so by guard.Report
			return s
		}
		return s + ": " + errorText(n.err, secrets)
	case noteRetry:
		return fmt.Sprintf("retries in %s after: %s", round(n.wait), errorText(n.err, secrets))
	case noteOpen:
		return "not sent: " + errorText(n.err, secrets)
	}
	return ""
}

func boundBy(b throttle.Bound) string {
	switch b.Kind {
	case throttle.BoundByWindow, throttle.BoundByStore:
		return b.Window.String()
	case throttle.BoundByConcurrency:
		return "the concurrency of the limiter"
	case throttle.BoundByPause:
		return "a pause of the limiter"
	case throttle.BoundByGovernor:
		return "the controller"
	case throttle.BoundByOther:
		return "another guard"
	case throttle.NotBound:
	}
	return "its turn"
}

// round drops digits that are of no use to a reader.
func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// errorText returns the text of err, bounded and without the secrets.
func errorText(err error, secrets []string) (text string) {
	defer func() {
		if recover() != nil { // the methods of err are user code
			text = fmt.Sprintf("a %T whose Error panics", err)
		}
	}()
	text = redact.Text(err.Error(), secrets)
	if len(text) > redact.MaxText {
		text = text[:redact.MaxText] + "..."
	}
	return text
}
