package console

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
)

// follower keeps what is known of the run that is shown: the newest snapshot, and
// what is worth a line of its own. It never blocks.
type follower struct {
	mu      sync.Mutex // guards everything below
	newest  *event.Progress
	got     time.Time
	fresh   bool            // newest was not taken yet
	ended   []view          // of earlier runs that were not taken yet
	past    *event.Progress // the end of the run before, if that was made room for
	counts  *counter        // counts as long as there are no snapshots
	failure string
	notes   []string // not taken yet
	told    map[string]bool
}

func newFollower() *follower { return &follower{counts: newCounter(), told: map[string]bool{}} }

// show takes over a snapshot, and reports whether it is news of the run that is
// followed. That is the one that was met first, until it ends: a run inside
// of it may tell its own progress.
func (f *follower) show(p *event.Progress) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if past := f.past; past != nil && p.Name == past.Name && !p.Time.After(past.Time) {
		return false // it came by two ways
	}
	if old := f.newest; old != nil {
		same := p.Name == old.Name
		switch late := !p.Time.IsZero() && !p.Time.After(old.Time); {
		case same && late && (old.Final || !p.Final): // it came by two ways
			return false
		case !same && !old.Final:
			return false
		case old.Final: // another run
			if f.fresh {
				f.ended = append(f.ended, view{Progress: old, failure: f.failure})
			}
			f.failure = ""
			clear(f.told)
		}
	}
	f.newest, f.got, f.fresh = p, time.Now(), true
	for i := range p.Limiters {
		if l := &p.Limiters[i]; l.Closed {
			f.noteLocked("closed "+l.Name, "limiter "+clean(l.Name)+" is closed"+on(": ", reason(l), ""))
		}
	}
	return true
}

// beginsLocked makes room for a run that begins at that time, if the one that is followed has
// ended before.
func (f *follower) beginsLocked(at time.Time) {
	old := f.newest
	if old == nil || !old.Final || at.Before(old.Time) { // or a late event of it
		return
	}
	if f.fresh {
		f.ended = append(f.ended, view{Progress: old, failure: f.failure})
	}
	f.past, f.newest, f.fresh, f.failure, f.counts = old, nil, false, "", newCounter()
	clear(f.told)
}

// observe counts an event, and notes those that people want to hear of.
func (f *follower) observe(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Kind {
	case event.FlowStarted, event.NodeStarted:
		f.beginsLocked(e.Time)
	case event.ItemFailed:
		if f.failure == "" {
			f.failure = failure(e)
			f.noteLocked("failure", "first failure: "+f.failure)
		}
	case event.LimiterClosed:
		f.noteLocked("closed "+e.Source, "limiter "+clean(e.Source)+" is closed"+on(": ", clean(e.Reason), "")+on(": ", errorText(e.Err), ""))
	default:
	}
	if f.newest == nil {
		f.counts.observe(e)
	}
}

func (f *follower) noteLocked(key, text string) {
	if !f.told[key] {
		f.told[key] = true
		f.notes = append(f.notes, text)
	}
}

func failure(e event.Event) string {
	text := clean(e.Source)
	if e.Index >= 0 {
		text += ", item " + strconv.FormatInt(e.Index, 10)
	}
	if e.Attempt > 1 {
		text += fmt.Sprintf(", after %d attempts", e.Attempt)
	}
	return text + on(": ", errorText(e.Err), "")
}

func errorText(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = "an error whose text cannot be had"
		}
	}()
	return clean(err.Error())
}

// news is what there is to show at a time.
type news struct {
	view
	notes []string
	fresh bool // a snapshot that was not taken before
}

// countAfter is how long snapshots are waited for before what was counted is shown.
const countAfter = 1500 * time.Millisecond

// take returns what there is; Progress is nil if that is nothing yet. ending: this
// is the last look, so what is counted here has ended. more: there is more to take.
func (f *follower) take(now time.Time, ending bool) (n news, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.ended) > 0:
		n.view, n.fresh = f.ended[0], true
		f.ended = f.ended[1:]
		return n, true
	case f.newest == nil:
		n.fresh = ending || !f.counts.idle()
		if ending || f.counts.lasts(now) >= countAfter {
			n.Progress = f.counts.snapshot(now, ending)
		}
	default:
		n.Progress, n.fresh = f.newest, f.fresh
		if !n.Final && !n.fresh { // its clock goes on
			p := *n.Progress
			p.Elapsed += max(0, now.Sub(f.got))
			n.Progress = &p
		}
		f.fresh = false
	}
	if n.Progress != nil {
		n.failure, n.notes, f.notes = f.failure, f.notes, nil
	}
	return n, false
}

// begun returns what a node adds 1 to for each item that begins; nil if there
// are snapshots.
func (f *follower) begun(node string) *atomic.Int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beginsLocked(time.Now())
	if f.newest != nil {
		return nil
	}
	return &f.counts.node(node).items
}
