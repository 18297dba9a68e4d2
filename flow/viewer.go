package flow

import (
	"time"

	"github.com/headrace/headrace/event"
)

// viewer calls a function with the newest snapshot that there is.
type viewer struct {
	f     func(event.Progress) // nil: only events
	every time.Duration
	next  time.Duration // since the run began

	newest chan *event.Progress // holds at most one
	gone   chan struct{}        // closed when f is not called any more
}

func (v *viewer) start() {
	v.next = v.every
	v.newest, v.gone = make(chan *event.Progress, 1), make(chan struct{})
	if v.f == nil {
		close(v.gone)
		return
	}
	go func() {
		defer close(v.gone) // also after runtime.Goexit in f
		for p := range v.newest {
			v.show(p)
		}
	}()
}

func (v *viewer) show(p *event.Progress) {
	defer func() { _ = recover() }() // a viewer never takes the work down
	v.f(*p)
}

// offer puts p in the place of a snapshot that f has not come to. There is one caller.
func (v *viewer) offer(p *event.Progress) {
	select {
	case <-v.newest:
	default:
	}
	v.newest <- p
}

// end waits until f has seen the last snapshot.
func (v *viewer) end() {
	close(v.newest)
	<-v.gone
}
