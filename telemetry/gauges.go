package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// gauges are the instruments for what limiters do at the moment. They are
// looked at when the reader collects, and only while there is a limiter to look at.
type gauges struct {
	limit, inFlight, waiting metric.Int64ObservableUpDownCounter
	pace                     metric.Float64ObservableGauge
	meter                    metric.Meter
	names                    *memory[string, string] // by themselves

	changing     sync.Mutex          // guards registration; never held by collect, which the SDK calls under a lock of its own
	registration metric.Registration // nil: there is nothing to look at

	mu      sync.Mutex // guards watched, told
	watched map[*guard.Guard]int
	told    map[string]told // by the name of the limiter
}

// told is what a run has told of a limiter.
type told struct {
	run flowRun
	event.LimiterProgress
}

// flowRun is one of several runs that may go on at once, also of the same flow.
type flowRun struct {
	name  string
	began int64 // in nanoseconds
}

func newGauges(m *maker, maxNames int) *gauges {
	return &gauges{
		limit:    m.upDown("headrace.limiter.limit", "{call}", "Calls that may be in flight."),
		inFlight: m.upDown("headrace.limiter.in_flight", "{call}", "Calls that are in flight."),
		waiting:  m.upDown("headrace.limiter.waiting", "{call}", "Calls that wait to be admitted."),
		pace:     m.gauge("headrace.limiter.pace", "{unit}/s", "Rate that the limiter has learned."),
		meter:    m.meter, names: newMemory(maxNames, itself),
		watched: map[*guard.Guard]int{}, told: map[string]told{},
	}
}

// Watch reports the state of guards in metrics, each time that they are collected, until stop is
// called. Guards in a flow that runs with flow.WithProgress are reported without it, as of the
// last snapshot. Nil guards are skipped, and a guard that is watched twice is reported once. stop
// may be called more than once.
func (o *Observer) Watch(guards ...*guard.Guard) (stop func()) {
	g := o.gauges
	g.change(func() {
		for _, l := range guards {
			if l != nil {
				g.watched[l]++
			}
		}
	})
	return sync.OnceFunc(func() {
		g.change(func() {
			for _, l := range guards {
				if g.watched[l]--; g.watched[l] <= 0 {
					delete(g.watched, l)
				}
			}
		})
	})
}

// progress keeps what a run tells of limiters until it tells more, or ends.
func (g *gauges) progress(e event.Event) {
	p := e.Progress
	if p == nil {
		return
	}
	run := flowRun{p.Name, p.Time.Add(-p.Elapsed).UnixNano()}
	g.change(func() {
		for name, of := range g.told {
			if of.run == run {
				delete(g.told, name)
			}
		}
		for _, l := range p.Limiters {
			if l.Live && !p.Final {
				g.told[l.Name] = told{run, l}
			}
		}
	})
}

// change changes what there is to look at.
func (g *gauges) change(f func()) {
	g.changing.Lock()
	defer g.changing.Unlock()
	g.mu.Lock()
	f()
	empty := len(g.watched)+len(g.told) == 0
	g.mu.Unlock()
	var err error
	switch {
	case empty && g.registration != nil:
		err = g.registration.Unregister()
		g.registration = nil
	case !empty && g.registration == nil:
		g.registration, err = g.meter.RegisterCallback(g.collect, g.limit, g.inFlight, g.waiting, g.pace)
	}
	if err != nil {
		otel.Handle(err) // there is no other receiver for it
	}
}

// collect adds up limiters of one name.
func (g *gauges) collect(_ context.Context, to metric.Observer) error {
	for name, l := range g.look() {
		set := metric.WithAttributeSet(attribute.NewSet(attribute.String("headrace.limiter.name", name)))
		if l.Limit > 0 {
			to.ObserveInt64(g.limit, int64(l.Limit), set)
		}
		to.ObserveInt64(g.inFlight, int64(l.InFlight), set)
		to.ObserveInt64(g.waiting, int64(l.Waiting), set)
		for unit, pace := range l.Pace {
			to.ObserveFloat64(g.pace, pace, metric.WithAttributes(
				attribute.String("headrace.limiter.name", name), attribute.String("headrace.unit", unit)))
		}
	}
	return nil
}

func (g *gauges) look() map[string]*event.LimiterProgress {
	g.mu.Lock()
	var watched []*guard.Guard
	live := map[string]bool{}
	for l := range g.watched {
		watched = append(watched, l)
		live[l.Name()] = true
	}
	var all []event.LimiterProgress
	for name, of := range g.told {
		if !live[name] {
			all = append(all, of.LimiterProgress)
		}
	}
	g.mu.Unlock()
	for _, l := range watched {
		all = append(all, inspect(l))
	}
	sums := map[string]*event.LimiterProgress{}
	for _, l := range all {
		name := l.Name
		if _, kept := g.names.kept(name); !kept {
			name = other
		}
		sum := sums[name]
		if sum == nil {
			sum = &event.LimiterProgress{Pace: map[string]float64{}}
			sums[name] = sum
		}
		sum.Limit += l.Limit
		sum.InFlight += l.InFlight
		sum.Waiting += l.Waiting
		for unit, pace := range l.Pace {
			sum.Pace[unit] += pace
		}
	}
	return sums
}

func inspect(g *guard.Guard) event.LimiterProgress {
	s := g.Stats()
	if g.Learner() != g {
		s.View = adaptive.View{} // of another guard
	}
	p := event.LimiterProgress{
		Name: g.Name(), Limit: s.View.Concurrency, InFlight: s.InFlight, Waiting: s.Waiting, Pace: map[string]float64{},
	}
	if most := s.Limits.Concurrency; most > 0 && (p.Limit == 0 || most < p.Limit) {
		p.Limit = most
	}
	for u, pace := range s.View.Pace {
		if pace > 0 {
			p.Pace[throttle.Unit(u).String()] = pace
		}
	}
	return p
}
