package guard

import (
	"context"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
)

// watching receives what other processes release, for one waiting call.
type watching struct {
	layer *Guard // may be nil
	end   context.CancelFunc
}

// begin watches the layer that has refused the call. A store that cannot
// announce anything is asked when the wait is over.
func (w *watching) begin(ctx context.Context, layer *Guard) {
	waker, ok := layer.share.store.(quota.Waker)
	if !ok || w.layer == layer {
		return
	}
	w.stop()
	watched, cancel := context.WithCancel(ctx)
	changed, err := announced(watched, waker, layer.share.key)
	if err != nil || changed == nil {
		cancel()
		return
	}
	w.layer, w.end = layer, cancel
	go func() {
		for {
			select {
			case _, open := <-changed:
				if !open {
					return
				}
				layer.tell()
			case <-watched.Done():
				return
			}
		}
	}()
}

func (w *watching) stop() {
	if w.layer != nil {
		w.end()
		w.layer = nil
	}
}

func announced(ctx context.Context, w quota.Waker, key string) (changed <-chan struct{}, err error) {
	defer panics.Catch(&err)
	return w.Changed(ctx, key)
}
