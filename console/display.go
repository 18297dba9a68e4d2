package console

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
)

const (
	frameEvery = 100 * time.Millisecond // of TTY
	lookEvery  = time.Second            // of the others, for what has no snapshots
	// patience is how long Close and the last Show wait for an output that takes nothing.
	patience = 2 * time.Second
)

// ErrStalled is returned by Close if the output blocked for two seconds.
var ErrStalled = errors.New("console: the output is blocked: the display was stopped")

// Display shows the progress of one run at a time: a run that begins during another
// is not shown, a later one is shown below. Safe for concurrent use.
type Display struct {
	set     settings
	mode    Mode
	style   style
	direct  io.Writer // as given
	term    terminal
	restore func() // of the console's mode
	follow  *follower

	wake  chan struct{}      // holds at most one
	asks  chan chan struct{} // for a look at once; closed when it was shown
	stop  chan struct{}      // closed by Close
	gone  chan struct{}      // closed when nothing is drawn any more
	close func()             // closes stop, once
	dead  atomic.Bool        // gone, or given up

	mu      sync.Mutex // guards what follows, and is held while writing
	screen  screen
	pending []byte // of Writer: a line without its end
	err     error  // of the first write that failed
	pace    pacing
	drawn   []string // the frame that stands there
}

// New returns a display, to be closed at the end. Errors are *fault.FieldError.
func New(c Config) (*Display, error) {
	set, err := c.settle()
	if err != nil {
		return nil, err
	}
	w := c.Output
	if w == nil {
		w = os.Stderr
	}
	d := &Display{
		set: set, mode: set.mode, direct: w, restore: func() {}, follow: newFollower(), pace: pacing{least: set.interval},
		wake: make(chan struct{}, 1), asks: make(chan chan struct{}), stop: make(chan struct{}), gone: make(chan struct{}),
	}
	d.close = sync.OnceFunc(func() { close(d.stop) })
	if d.mode == Off {
		close(d.gone)
		return d, nil
	}
	d.term = opened(w, &set)
	if d.mode == Auto {
		d.mode = set.env.mode(d.term.is, onWindows)
	}
	if f, ok := w.(*os.File); ok && d.mode == TTY && d.term.is {
		if d.restore, ok = enable(f); !ok && set.mode == Auto {
			d.mode = Plain
		}
	}
	d.style = style{colour: set.env.colour(d.term.is, onWindows), ascii: set.env.ascii(onWindows)}
	go d.run()
	return d, nil
}

// Mode returns the mode that is used, never Auto.
func (d *Display) Mode() Mode { return d.mode }

// Show shows a snapshot, unless a newer one comes first. It returns at once; a Final
// one is waited for, for at most two seconds. Do not change what p refers to.
func (d *Display) Show(p event.Progress) {
	if d.over() {
		return
	}
	news := d.follow.show(&p)
	switch {
	case p.Final:
		d.flush()
	case news:
		d.nudge()
	}
}

// Observe implements event.Observer. It shows event.FlowProgress as Show does, but never
// waits; without such events it counts those of nodes. It also shows the first failure
// and why a limiter closed.
func (d *Display) Observe(e event.Event) {
	if d.over() {
		return
	}
	if e.Kind != event.FlowProgress {
		d.follow.observe(e)
		return
	}
	if e.Progress != nil && d.follow.show(e.Progress) {
		d.nudge()
	}
}

// ItemCounter is for package node.
func (d *Display) ItemCounter(node string) *atomic.Int64 {
	if d.over() {
		return nil
	}
	return d.follow.begun(node)
}

func (d *Display) over() bool { return d.mode == Off || d.dead.Load() }

// nudge has a new snapshot shown.
func (d *Display) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// flush waits until all that is known was shown, or for so long.
func (d *Display) flush() {
	seen := make(chan struct{})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case d.asks <- seen:
		select {
		case <-seen:
		case <-timer.C:
		}
	case <-d.gone:
	case <-timer.C:
	}
}

// Close shows the last state, which stays, and returns the first write error, or
// ErrStalled. It may be called twice.
func (d *Display) Close() error {
	d.close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.gone:
	case <-timer.C:
		d.dead.Store(true)
		return ErrStalled
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// run is the goroutine that draws.
func (d *Display) run() {
	defer close(d.gone)
	defer d.finish()
	every := lookEvery
	if d.mode == TTY {
		every = frameEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	wake := d.wake
	if d.mode == TTY {
		wake = nil // the next frame is soon
	}
	for {
		var seen chan struct{}
		var ok bool
		select {
		case <-d.stop:
			d.look(true)
			return
		case seen = <-d.asks:
			ok = d.look(false)
			close(seen)
		case <-wake:
			ok = d.look(false)
		case <-ticker.C:
			ok = d.look(false)
		}
		if !ok {
			return
		}
	}
}

// finish leaves the output as it was found.
func (d *Display) finish() {
	d.dead.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) > 0 {
		d.aboveLocked(append(d.pending, '\n'))
		d.pending = nil
	}
	if d.err != nil && d.mode == TTY {
		_, _ = io.WriteString(d.term.w, endFrame) // a frame may have been written in part
	}
	d.restore()
	d.term.close()
}
