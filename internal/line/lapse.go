package line

import (
	"context"
	"time"
)

// patience is for how long a turn may continue to ask after its wait for admission was
// ended, before another one is chosen regardless: what a guard asks, such as a
// store, may not return.
const patience = time.Second

// follow has the line go on if the context of a turn that asks ends, and the
// guard does not return.
func (t *turn) follow(ask *asking) {
	t.stop = context.AfterFunc(ask.Context, func() { t.ticket.lines.lapse(t, ask) })
}

// lapse takes t out of the line if it has not returned after a while.
func (l *Lines) lapse(t *turn, ask *asking) {
	l.clock.AfterFunc(patience, func() {
		l.mu.Lock()
		recall := nothing
		if n := t.line; n != nil && t.ask == ask {
			if t.inLine() {
				n.leave(t, false)
			}
			if n.asking == t {
				n.asking = nil
			}
			recall = n.choose()
		}
		l.mu.Unlock()
		recall()
	})
}

// end ends the wait of t for admission because of err.
func (l *Lines) end(t *turn, ask *asking, err error) {
	ask.end(err)
	l.lapse(t, ask)
}
