package adaptive

import (
	"fmt"
	"reflect"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Reconfigure changes the limits, the law, the detector and MaxWait in place,
// while calls wait and are in flight. Nobody is dropped: those who wait are
// asked again at once, and only one whose cost can no longer fit fails, with a
// *throttle.CostError. The windows keep their history as SetLimits says; the
// gate, a pause, a closing and the calls in flight stay what they are. Calls
// that were admitted before end with what they took, and are judged by the new
// detector.
//
// A law that is configured as before keeps what it has learnt. Another one
// begins at its Start, behind the gate of the old one; for the moment of the
// change nobody is admitted, so that no call ever goes by the limits of one
// configuration and the law of another, and a TryAcquire just then is refused.
// A nil Law after a nil Law is the same one for as long as Limits.Concurrency
// leaves its Max alone, which is 200 or the concurrency if that is higher.
// Laws are compared with reflect.DeepEqual, so one that holds a function is
// always another.
//
// A call that waits to go again has the MaxWait of when it began this wait. A
// limiter cannot be renamed: the Name is empty or as before. The problems of c
// are joined in one error, each a *fault.FieldError, and nothing has changed then.
func (l *Limiter) Reconfigure(c Config) error {
	p := invalid.Problems{Owner: "adaptive: " + l.name}
	if c.Name != "" && c.Name != l.name {
		p.Addf("Name", "%q is another than %q: leave it empty, or make another limiter", c.Name, l.name)
	}
	if err := l.change(&c, &p); err != nil {
		return err
	}
	emit.Send(l.observer, event.Event{
		Time: l.clock.Now(), Kind: event.LimiterChanged, Source: l.name, Index: event.NoIndex, Reason: fmt.Sprint(c.Limits),
	})
	return nil
}

func (l *Limiter) change(c *Config, p *invalid.Problems) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	state, err := l.start(c, p)
	if err != nil {
		return err
	}
	if l.cfg.Load().sameLaw(c) {
		err = l.throttle.SetLimits(c.Limits)
	} else {
		l.throttle.Update(func(time.Time) { l.governor.State = standstill{l.governor.State} })
		err = l.throttle.SetLimits(c.Limits) // they are valid
		l.throttle.Update(func(time.Time) { l.governor.replace(state) })
	}
	if err == nil {
		l.cfg.Store(c)
	}
	return err
}

// sameLaw reports whether a law that runs by c can go on under d.
func (c *Config) sameLaw(d *Config) bool {
	if c.Law == nil && d.Law == nil {
		return lawFor(c.Limits).Max == lawFor(d.Limits).Max
	}
	return reflect.DeepEqual(filledIn(c.law()), filledIn(d.law()))
}

// filledIn is law with its defaults, which need not be written down.
func filledIn(law Law) Law {
	switch x := law.(type) {
	case Measured:
		return x.WithDefaults()
	case AIMD:
		return x.WithDefaults()
	default:
		return law
	}
}

// standstill is a state that lets nobody go and hears everything.
type standstill struct{ State }

// Admit implements throttle.Governor.
func (standstill) Admit(time.Time, throttle.Cost, int) time.Duration { return throttle.Forever }
