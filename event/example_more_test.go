package event_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
)

// Progress is a custom observer. It is called from many goroutines at
// once, so it counts with atomics, and it returns at once.
type Progress struct{ done, failed, hits atomic.Int64 }

var _ event.Observer = (*Progress)(nil)

// Observe implements event.Observer.
func (p *Progress) Observe(e event.Event) {
	switch e.Kind {
	case event.ItemDone:
		p.done.Add(1)
	case event.ItemFailed:
		p.failed.Add(1)
	case event.LimiterHit:
		p.hits.Add(1)
	default: // kinds that it does not know, later versions may have more
	}
}

func ExampleObserver() {
	progress := &Progress{}
	for i, err := range []error{nil, errors.New("no such user"), nil} { // what a node does
		e := event.New(time.Now(), event.ItemDone, "lookup")
		if err != nil {
			e.Kind, e.Err = event.ItemFailed, err
		}
		e.Index = int64(i)
		progress.Observe(e)
	}
	progress.Observe(event.New(time.Now(), event.NodeFinished, "lookup")) // ignored
	fmt.Println(progress.done.Load(), "done,", progress.failed.Load(), "failed,", progress.hits.Load(), "hits")
	// Output: 2 done, 1 failed, 0 hits
}
