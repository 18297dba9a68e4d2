package client

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// Setting is the world of a run, but for its policy.
type Setting struct {
	Provider   provider.Config
	Changes    []provider.Change // in the order of their times
	Latency    time.Duration     // mean, of an admitted call at the provider
	Net        time.Duration     // one way
	Transit    Between           // drawn for each way of each call, so that calls arrive in another order; zero: Net
	Refusal    time.Duration     // mean, from the arrival of a refused call to its answer, without a Transit
	Tokens     bool              // calls differ in tokens, and last accordingly
	Tail       float64           // the standard deviation of the logarithm of a call's tokens; 0: that of ordinary calls
	Guess      Range             // what policies take a call's tokens for, as a factor of what it reserves; zero: they know
	Callers    int               // of a process, each of which waits for its call; 0: any number
	Processes  int               // they join 20 s apart, more than four of them within 80 s
	Pool       int               // workers of policies with a fixed pool
	OnOff      time.Duration     // demand lasts so long and pauses as long; 0: it never pauses
	Preset     Preset            // what the provider's documentation says, to policies that read it
	Unmeasured time.Duration     // after the warm-up, before it is measured
	Lasts      time.Duration     // how long the run is measured; 0: Measured
	Items      int               // that each process has; 0: more than it can send
	Bursts     Bursts            // in which items come to each process; zero: they are all there from the start
}

// Range is drawn from with each factor equally likely.
type Range struct{ Low, High float64 }

// Bursts are so many items at once, each time that Every has passed. The first burst comes when the process joins.
type Bursts struct {
	Items int
	Every time.Duration
	Until time.Duration // then there are more items than can be sent; 0: there never are
}

// Between is drawn from with each duration equally likely.
type Between struct{ Low, High time.Duration }

// Preset is a documented limit; 0: it is not documented.
type Preset struct{ RequestsPerMinute, TokensPerMinute int64 }

// End is when the run is over.
func (s *Setting) End() time.Duration {
	if s.Lasts > 0 {
		return s.begins() + s.Lasts
	}
	return s.begins() + Measured
}

// begins is when measuring begins.
func (s *Setting) begins() time.Duration { return WarmUp + s.Unmeasured }

// Sample is what one process is doing at a moment.
type Sample struct {
	At       time.Duration
	Process  int
	InFlight int
	Result   Result
	Gauge    Gauge
}

// Watch looks at a run.
type Watch struct {
	Every time.Duration
	See   func(Sample)
}

// Processes join so far apart, or so that all of them are there after joined.
const joining, joined = 20 * time.Second, 80 * time.Second

// The streams of chance in one world.
const (
	luckStream = iota
	joinStream
	firstStream // two for each process
)

// transitStream is the first of those of transits, one for each process.
const transitStream = 1 << 32

// event is something that happens to a process, or to all of them if there is none.
type event struct {
	what    what
	process *process
	call    *Call
}

type what uint8

const (
	join    what = iota // the process starts
	wake                // a wait of the head of its line is over
	arrive              // the call reaches the provider
	depart              // the provider has finished it
	answer              // the process hears of it
	refusal             // or of its refusal
	again               // a kept call has sat out its backoff
	turn                // the limits change
	tide                // demand comes or goes
	burst               // the next items come
	glance              // a watcher looks
)

// run is one world.
type run struct {
	Setting
	queue      world.Queue[event]
	provider   *provider.Provider
	processes  []*process
	turned     int // changes so far
	omniscient bool
	watch      Watch
}

// Run plays the world of s with contender c from seed and returns what each
// process got. Equal arguments give equal results. watch may be zero.
func Run(s Setting, c Contender, seed uint64, watch Watch) ([]Result, error) {
	r := &run{Setting: s, omniscient: c.Omniscient, watch: watch}
	config := s.Provider
	config.Headers = c.Headers
	r.provider = provider.New(config, world.NewChance(seed, luckStream).Rand)
	if c.Omniscient {
		r.provider = provider.New(config.Lucky(), world.NewChance(seed, luckStream).Rand)
	}
	starts := world.NewChance(seed, joinStream)
	apart := min(joining, joined/time.Duration(max(1, s.Processes)))
	for i := range max(1, s.Processes) {
		start := time.Duration(i)*apart + stretch(time.Second, starts.Float64())
		p := newProcess(r, seed, uint64(i))
		var err error
		p.policy, err = c.New(Seat{
			Start: start, Seed: seed*1_000_003 + uint64(i), Pool: s.Pool,
			Process: i, Processes: max(1, s.Processes), Apart: apart, Preset: s.Preset, Items: s.Items, Provider: r.provider, Setting: &r.Setting,
		})
		if err != nil {
			return nil, fmt.Errorf("client: process %d of %q: %w", i, c.Name, err)
		}
		r.processes = append(r.processes, p)
		r.queue.At(start, event{what: join, process: p})
	}
	r.arrange()
	last := s.End() - 1 // what would begin at the end is not of this run
	for e, ok := r.queue.Next(last); ok; e, ok = r.queue.Next(last) {
		r.happen(e)
	}
	results := make([]Result, len(r.processes))
	for i, p := range r.processes {
		results[i] = p.result()
	}
	return results, nil
}

// arrange puts what is known beforehand into the queue.
func (r *run) arrange() {
	for _, c := range r.Changes {
		r.queue.At(c.At, event{what: turn})
	}
	if r.OnOff > 0 {
		r.queue.At(r.OnOff, event{what: tide})
	}
	if r.watch.Every > 0 {
		r.queue.At(0, event{what: glance})
	}
}

func (r *run) happen(e event) {
	now := r.queue.Now()
	switch e.what {
	case join:
		e.process.joined, e.process.began, e.process.admitted = true, now, now
		if e.process.come > 0 {
			r.queue.At(r.nextBurst(now), event{what: burst, process: e.process})
		}
		e.process.pump(now)
	case wake:
		e.process.wake(now)
	case arrive:
		e.process.arrive(now, e.call)
	case depart:
		e.process.depart(now, e.call)
	case answer:
		e.process.answer(now, e.call)
	case refusal:
		e.process.refusal(now, e.call)
	case again:
		e.process.again(now, e.call)
	case turn:
		r.provider.Apply(now, r.Changes[r.turned])
		r.turned++
		if r.omniscient {
			r.pumpAll(now)
		}
	case burst:
		e.process.burst(now)
	case tide:
		for _, p := range r.processes {
			p.admitted = now
		}
		r.pumpAll(now)
		r.queue.At(now+r.OnOff, event{what: tide})
	case glance:
		r.look(now)
		r.queue.At(now+r.watch.Every, event{what: glance})
	}
}

// nextBurst is when items come after those that come now.
func (r *run) nextBurst(now time.Duration) time.Duration {
	if until := r.Bursts.Until; until > now {
		return min(until, now+r.Bursts.Every)
	}
	return now + r.Bursts.Every
}

// ebb reports whether demand pauses.
func (r *run) ebb(now time.Duration) bool { return r.OnOff > 0 && now/r.OnOff%2 == 1 }

func (r *run) pumpAll(now time.Duration) {
	for _, p := range r.processes {
		if p.joined {
			p.pump(now)
		}
	}
}

func (r *run) look(now time.Duration) {
	for i, p := range r.processes {
		s := Sample{At: now, Process: i, InFlight: p.inFlight, Result: p.result()}
		if g, ok := p.policy.(Gauged); ok {
			s.Gauge = g.Gauge()
		}
		r.watch.See(s)
	}
}
