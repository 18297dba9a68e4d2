package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/executor"
)

// load is what an executor does at the moment.
type load struct {
	name                                 string
	pending, queued, processing, calling int // tasks
	slots, concurrency                   int
	windows                              []windowLeft
}

// windowLeft is what is left of one window of a limiter.
type windowLeft struct {
	window, unit string
	left         int64
}

// pool is an executor, or what stands for one in tests.
type pool interface{ load() load }

type pooled struct{ *executor.Executor }

func (x pooled) load() load {
	s := x.Stats()
	l := load{
		name: x.Name(), pending: int(s.Tasks[executor.Pending]), queued: int(s.Tasks[executor.Queued]),
		processing: int(s.Tasks[executor.Processing]), calling: int(s.Tasks[executor.Calling]),
		slots: s.Slots, concurrency: s.Concurrency,
	}
	for _, w := range x.Guard().Stats().Windows {
		l.windows = append(l.windows, windowLeft{w.Window.String(), w.Window.Unit().String(), w.Left})
	}
	return l
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
	watched map[pool]int
}

func newPools(m *maker, maxNames int) *pools {
	return &pools{
		tasks:       m.upDown("headrace.executor.tasks", "{task}", "Tasks that have not ended, by state."),
		slots:       m.upDown("headrace.executor.slots", "{call}", "Slots of the concurrency that are in use."),
		concurrency: m.upDown("headrace.executor.concurrency", "{call}", "Calls that may be made at the same time."),
		left:        m.gauge("headrace.executor.window.left", "{unit}", "What is left of each window of the limits."),
		meter:       m.meter, names: newMemory(maxNames, itself), watched: map[pool]int{},
	}
}

// WatchExecutors reports the state of executors in metrics, each time that they are collected, until
// stop is called. Nil executors are skipped, and one that is watched twice is reported once. stop may
// be called more than once.
func (o *Observer) WatchExecutors(executors ...*executor.Executor) (stop func()) {
	all := make([]pool, 0, len(executors))
	for _, x := range executors {
		if x != nil {
			all = append(all, pooled{x})
		}
	}
	return o.pools.watch(all...)
}

func (p *pools) watch(all ...pool) (stop func()) {
	p.change(func() {
		for _, x := range all {
			p.watched[x]++
		}
	})
	return sync.OnceFunc(func() {
		p.change(func() {
			for _, x := range all {
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
		otel.Handle(err) // there is no other receiver for it
	}
}

// collect adds up executors of one name. Of a window that several of them show, the least that is left counts:
// they may share it.
func (p *pools) collect(_ context.Context, to metric.Observer) error {
	for name, sum := range p.look() {
		executor := attribute.String("headrace.executor.name", name)
		for state, n := range map[string]int{
			"pending": sum.pending, "queued": sum.queued, "processing": sum.processing, "calling": sum.calling,
		} {
			to.ObserveInt64(p.tasks, int64(n), metric.WithAttributes(executor, attribute.String("headrace.task.state", state)))
		}
		to.ObserveInt64(p.slots, int64(sum.slots), metric.WithAttributes(executor))
		to.ObserveInt64(p.concurrency, int64(sum.concurrency), metric.WithAttributes(executor))
		for _, w := range sum.windows {
			to.ObserveFloat64(p.left, float64(w.left), metric.WithAttributes(
				executor, attribute.String("headrace.unit", w.unit), attribute.String("headrace.window", w.window)))
		}
	}
	return nil
}

func (p *pools) look() map[string]*load {
	p.mu.Lock()
	watched := slices.Collect(maps.Keys(p.watched))
	p.mu.Unlock()
	sums := map[string]*load{}
	for _, x := range watched {
		l := x.load()
		if _, kept := p.names.kept(l.name); !kept {
			l.name = other
		}
		sum := sums[l.name]
		if sum == nil {
			sum = new(load)
			sums[l.name] = sum
		}
		sum.pending += l.pending
		sum.queued += l.queued
		sum.processing += l.processing
		sum.calling += l.calling
		sum.slots += l.slots
		sum.concurrency += l.concurrency
		for _, w := range l.windows {
			sum.windows = least(sum.windows, w)
		}
	}
	return sums
}

// least has w among windows, once.
func least(windows []windowLeft, w windowLeft) []windowLeft {
	for i := range windows {
		if have := &windows[i]; have.window == w.window && have.unit == w.unit {
			have.left = min(have.left, w.left)
			return windows
		}
	}
	return append(windows, w)
}
