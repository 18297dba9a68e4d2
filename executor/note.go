package executor

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/throttle"
)

// noteKind is what a note tells of. What every task goes through is not noted:
// the times of its states tell that.
type noteKind uint8

const (
	noteWaited  noteKind = iota // for the limits
	noteRefused                 // for rate
	noteRetry
	noteOpen // the breaker refused
)

// note is one thing out of the ordinary in the life of a task.
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

// text is the note for people, without the secrets.
func (n *note) text(secrets []string) string {
	switch n.kind {
	case noteWaited:
		return fmt.Sprintf("waited %s for %s", round(n.wait), boundBy(n.bound))
	case noteRefused:
		s := "refused for rate, and waits to go again"
		if n.wait > 0 {
			s = fmt.Sprintf("refused for rate, and waits %s or longer to go again", round(n.wait))
		}
		if n.err == nil { // the call said so by guard.Report
			return s
		}
		return s + ": " + errorText(n.err, secrets)
	case noteRetry:
		return fmt.Sprintf("goes again in %s after: %s", round(n.wait), errorText(n.err, secrets))
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
		return "the control law"
	case throttle.BoundByOther:
		return "another guard"
	case throttle.NotBound:
	}
	return "its turn"
}

// round leaves out digits that nobody reads.
func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// errorText is what err says, bounded and without the secrets.
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
