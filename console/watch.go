package console

import (
	"time"

	"github.com/headrace/headrace/flow"
)

// watchEvery is how often a frame of TTY gets new numbers; its clock moves in between.
const watchEvery = 250 * time.Millisecond

// Watch returns the option of flow.Run that shows the run: flow.WithObserver(d) and
// flow.WithProgress(d.Show, every), where every is 250 ms in TTY, otherwise a second or
// Config.Interval if that is less. Other observers receive event.FlowProgress as often;
// give the two options yourself for another interval. With Off it does nothing.
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
