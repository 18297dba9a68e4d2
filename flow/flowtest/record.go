package flowtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
)

// TB is what a Record needs of a *testing.T.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Failed() bool
	Log(args ...any)
}

// Record collects the calls of its providers, the events under its context, and notes. It is safe for
// concurrent use.
type Record struct {
	began time.Time
	ctx   context.Context //nolint:containedctx // it is that of the test, which hands it over in the same way

	mu        sync.Mutex // guards everything below, and what is in the providers
	providers []*Provider
	calls     []Call
	arrivals  []*arrival // that are not answered yet
	events    []Event
	notes     []note
}

type note struct {
	at   time.Duration
	text string
}

// New returns a Record that begins now. If t fails the timeline is logged, shortened if it is long. t
// may be nil.
func New(t TB) *Record {
	r := &Record{began: time.Now()}
	ctx := context.Background()
	if t != nil {
		ctx = t.Context()
		t.Cleanup(func() {
			if t.Failed() {
				t.Helper()
				t.Log("the timeline:\n" + abridge(r.String()))
			}
		})
	}
	r.ctx = event.With(ctx, r)
	return r
}

// Context returns the context to run under: that of the test, with the Record as an observer.
func (r *Record) Context() context.Context { return r.ctx }

// Observe implements event.Observer, for a context that is not that of the Record.
func (r *Record) Observe(e event.Event) {
	at := r.Elapsed()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, Event{At: at, Event: e})
}

// Notef adds a line to the timeline.
func (r *Record) Notef(format string, args ...any) {
	at := r.Elapsed()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, note{at, fmt.Sprintf(format, args...)})
}

// Notes returns the lines of Notef, in order.
func (r *Record) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, n := range r.notes {
		all = append(all, n.text)
	}
	return all
}

// Elapsed returns the time since the Record was made.
func (r *Record) Elapsed() time.Duration { return time.Since(r.began) }

// Calls returns the calls of all providers so far, in the order of their arrival.
func (r *Record) Calls() Calls {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
