package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// Pool is something that works on tasks, such as an *executor.Executor. It is
// told from others by ==.
type Pool interface {
	// Load is what it does at the moment.
	Load() event.Load
}

// pools are the instruments for what executors do at the moment. They are
// looked at when the reader collects, and only while there is one to look at.
type pools struct {
	tasks, slots, concurrency metric.Int64ObservableUpDownCounter
	left                      metric.Float64ObservableGauge
	meter                     metric.Meter
	names                     *memory[string, string] // by themselves

	changing     sync.Mutex          // guards registration; never held by collect, which the SDK calls under a lock of its own
	registration metric.Registration // nil: there is nothing to look at

	mu      sync.Mutex // guards watched
	watched map[Pool]int
}

func newPools(m *maker, maxNames int) *pools {
	return &pools{
		tasks:       m.upDown("headrace.executor.tasks", "{task}", "Tasks that have not ended, by state."),
		slots:       m.upDown("headrace.executor.slots", "{call}", "Slots of the concurrency that are in use."),
		concurrency: m.upDown("headrace.executor.concurrency", "{call}", "Calls that may be made at the same time."),
		left:        m.gauge("headrace.executor.window.left", "{unit}", "What is left of each window of the limits."),
		meter:       m.meter, names: newMemory(maxNames, itself), watched: map[Pool]int{},
	}
}

// WatchExecutors has metrics tell what executors do, each time that they are
// collected, until stop is called. Nils are left out, and one that is watched twice is told
// once. stop may be called any number of times.
func (o *Observer) WatchExecutors(of ...Pool) (stop func()) {
	p := o.pools
	of = slices.Clone(of)
	p.change(func() {
		for _, x := range of {
			if x != nil {
				p.watched[x]++
			}
		}
	})
	return sync.OnceFunc(func() {
		p.change(func() {
			for _, x := range of {
				if p.watched[x]--; p.watched[x] <= 0 {
					delete(p.watched, x)
				}
			}
		})
	})
}

// change changes what there is to look at.
func (p *pools) change(f func()) {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	f()
	empty := len(p.watched) == 0
	p.mu.Unlock()
	var err error
	switch {
	case empty && p.registration != nil:
		err = p.registration.Unregister()
		p.registration = nil
	case !empty && p.registration == nil:
		p.registration, err = p.meter.RegisterCallback(p.collect, p.tasks, p.slots, p.concurrency, p.left)
	}
	if err != nil {
		otel.Handle(err) // nobody else is there to be told
	}
}

// collect adds up executors of one name. Of a window that several of them show, the least that is left counts:
// they may share it.
func (p *pools) collect(_ context.Context, to metric.Observer) error {
	for name, sum := range p.look() {
		executor := attribute.String("headrace.executor.name", name)
		for state, n := range map[string]int{
			"pending": sum.Pending, "queued": sum.Queued, "processing": sum.Processing, "calling": sum.Calling,
		} {
			to.ObserveInt64(p.tasks, int64(n), metric.WithAttributes(executor, attribute.String("headrace.task.state", state)))
		}
		to.ObserveInt64(p.slots, int64(sum.Slots), metric.WithAttributes(executor))
		to.ObserveInt64(p.concurrency, int64(sum.Concurrency), metric.WithAttributes(executor))
		for _, w := range sum.Windows {
			to.ObserveFloat64(p.left, float64(w.Left), metric.WithAttributes(
				executor, attribute.String("headrace.unit", w.Unit), attribute.String("headrace.window", w.Window)))
		}
	}
	return nil
}

func (p *pools) look() map[string]*event.Load {
	p.mu.Lock()
	watched := slices.Collect(maps.Keys(p.watched))
	p.mu.Unlock()
	sums := map[string]*event.Load{}
	for _, x := range watched {
		l := x.Load()
		if _, kept := p.names.kept(l.Name); !kept {
			l.Name = other
		}
		sum := sums[l.Name]
		if sum == nil {
			sum = new(event.Load)
			sums[l.Name] = sum
		}
		sum.Pending += l.Pending
		sum.Queued += l.Queued
		sum.Processing += l.Processing
		sum.Calling += l.Calling
		sum.Slots += l.Slots
		sum.Concurrency += l.Concurrency
		for _, w := range l.Windows {
			sum.Windows = least(sum.Windows, w)
		}
	}
	return sums
}

// least has w among windows, once.
func least(windows []event.WindowLeft, w event.WindowLeft) []event.WindowLeft {
	for i := range windows {
		if have := &windows[i]; have.Window == w.Window && have.Unit == w.Unit {
			have.Left = min(have.Left, w.Left)
			return windows
		}
	}
	return append(windows, w)
}
