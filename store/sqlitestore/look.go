package sqlitestore

import (
	"context"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
)

// Look implements quota.Inspector.
func (q *Quota) Look(ctx context.Context, key string) (state quota.State, err error) {
	err = q.change(ctx, func(l *ledger) error {
		k, err := l.load(key)
		if err != nil || k.Idle(l.now) {
			return err
		}
		state.Limits = tally.Limits(k.Concurrency, k.Gauges)
		state.Uses = tally.Uses(l.now, state.Limits.Windows, k.Gauges)
		state.InFlight = len(k.Slots)
		state.Cooldown = max(0, k.Cooled-l.now)
		return nil
	})
	return state, err
}

// Keys implements quota.Inspector. Damaged keys are included.
func (q *Quota) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from, last := max(prefix, firstKey), false; !last; {
			var names []string
			if err := q.change(ctx, func(l *ledger) error {
				page, err := l.page(from, pageSize)
				last = len(page) < pageSize
				for _, k := range page {
					if from = k.name + "\x00"; !strings.HasPrefix(k.name, prefix) {
						last = true
						break
					}
					if k.damaged || !k.Idle(l.now) {
						names = append(names, k.name)
					}
				}
				return err
			}); err != nil {
				yield("", err)
				return
			}
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
		}
	}
}

// Forget implements quota.Inspector. A key with a damaged row can be forgotten.
func (q *Quota) Forget(ctx context.Context, key string) error {
	return q.change(ctx, func(l *ledger) error {
		l.forget(key)
		return nil
	})
}

// wakes are the channels of Changed by key.
type wakes struct {
	mu    sync.Mutex
	byKey map[string]map[chan struct{}]struct{} // guarded by mu
}

// Changed implements quota.Waker. It announces the tickets that any Quota of this process with the same file
// ends. To notice those of other processes, ask again after Grant.Wait.
func (q *Quota) Changed(ctx context.Context, keys ...string) (<-chan struct{}, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w, changed := &q.wakes, make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[string]map[chan struct{}]struct{}{}
	}
	for _, key := range keys {
		if w.byKey[key] == nil {
			w.byKey[key] = map[chan struct{}]struct{}{}
		}
		w.byKey[key][changed] = struct{}{}
	}
	context.AfterFunc(ctx, func() { w.forget(changed, keys) })
	return changed, nil
}

func (w *wakes) forget(changed chan struct{}, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		delete(w.byKey[key], changed)
		if len(w.byKey[key]) == 0 {
			delete(w.byKey, key)
		}
	}
}

func (w *wakes) wake(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		for changed := range w.byKey[key] {
			select {
			case changed <- struct{}{}:
			default: // a value that was not yet received is enough
			}
		}
	}
}

// open is the Quotas of this process.
type open struct {
	mu  sync.Mutex
	all map[*Quota]struct{} // guarded by mu
}

var handles = open{all: map[*Quota]struct{}{}} //nolint:gochecknoglobals // those with one file wake each other

func (o *open) add(q *Quota) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[q] = struct{}{}
}

func (o *open) remove(q *Quota) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, q)
}

// wake announces the keys on all Quotas that have the file of q open.
func (o *open) wake(q *Quota, keys []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.all {
		if other == q || os.SameFile(other.file.info, q.file.info) {
			other.wakes.wake(keys)
		}
	}
}
