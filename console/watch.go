package console

import (
	"time"

	"github.com/headrace/headrace/flow"
)

// watchEvery is how often a frame of TTY gets new numbers; its clock moves in between.
const watchEvery = 250 * time.Millisecond

// Watch is the option of flow.Run that shows the run. It stands for flow.WithProgress with
// [Display.Show] and for flow.WithObserver with d. On a terminal there is something to
// see after a quarter of a second and four times a second, otherwise every second or as often as
// WithInterval says. With Off it asks for nothing.
//
// Whoever logs event.FlowProgress of the same run gets it as often: give them to
// flow.WithProgress(d.Show, time.Second) and flow.WithObserver(d) in its place.
func (d *Display) Watch() flow.RunOption {
	every := time.Second
	switch {
	case d.mode == Off:
		return flow.WithGuards() // none
	case d.mode == TTY:
		every = watchEvery
	case d.set.interval > 0:
		every = min(every, d.set.interval)
	}
	return both(flow.WithProgress(d.Show, every), flow.WithObserver(d))
}

// both makes one option of two.
func both[T any](a, b func(T)) func(T) {
	return func(t T) {
		a(t)
		b(t)
	}
}
