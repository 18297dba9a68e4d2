package law

import (
	"math"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
	"github.com/headrace/headrace/throttle"
)

// driver is one process with a limiter that is run by a controller. Like guard.Guard, it uses one
// call to probe a key that the provider has closed.
type driver struct {
	adaptive.State
	closed reopening.Closure
	zero   time.Time // where the world begins
	chance world.Chance
}

// retryStream is the stream of chance of the delays of a retry.Policy.
const retryStream = 1

// Drive makes a contender of law. With headers it hears what the provider
// tells in its meters. What a refusal names it always hears. A process with few items
// is one that has just started: its Measured begins at the first rejection, as that of a guard does.
func Drive(name string, law adaptive.Law, headers bool) client.Contender {
	return client.Contender{Name: name, Headers: headers, New: func(s client.Seat) (client.Policy, error) {
		d := driver{zero: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), chance: world.NewChance(s.Seed, retryStream)}
		if m, ok := law.(adaptive.Measured); ok && s.Items > 0 && s.Preset == (client.Preset{}) {
			return &lazy{driver: d, law: m, seat: s}, nil
		}
		var err error
		if d.State, err = told(law, s.Preset).Start(d.zero.Add(s.Start), s.Seed); err != nil {
			return nil, err
		}
		return &d, nil
	}}
}

// part is Drive for processes that each configure their part of the limit: 1/n
// for each of n processes.
func part(name string, law adaptive.Measured, headers bool) client.Contender {
	return client.Contender{Name: name, Headers: headers, New: func(s client.Seat) (client.Policy, error) {
		sharer := hook.Open[interface {
			Part(share float64) adaptive.Law
		}](law)
		return Drive(name, sharer.Part(1/float64(s.Processes)), headers).New(s)
	}}
}

// told is law with the limits that the provider documents, if law supports them. Like
// guard.New, it has the documented rate bound the start, and not the calls in flight.
func told(law adaptive.Law, p client.Preset) adaptive.Law {
	m, ok := law.(adaptive.Measured)
	if !ok || p == (client.Preset{}) {
		return law
	}
	if n := p.RequestsPerMinute; n > 0 {
		m.Prior.Windows = append(m.Prior.Windows, throttle.Sliding(n, time.Minute))
	}
	if n := p.TokensPerMinute; n > 0 {
		m.Prior.Windows = append(m.Prior.Windows, throttle.Sliding(n, time.Minute).Of(throttle.Tokens))
	}
	m.Initial = m.WithDefaults().Max
	return m
}

// Admit implements client.Policy.
func (d *driver) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	at := d.zero.Add(now)
	if wait := d.closed.Until().Sub(at); d.closed.Closed() && wait > 0 { // or until the look that is out has ended
		d.State.Slack(at)
		return wait
	}
	return d.State.Admit(at, reserved(c), inFlight)
}

// Slack implements client.Policy.
func (d *driver) Slack(now time.Duration) { d.State.Slack(d.zero.Add(now)) }

// Sent implements client.Policy.
func (d *driver) Sent(now time.Duration, c *client.Call) {
	d.closed.Sent(d.zero.Add(now), c.Seq)
	d.OnSend(d.zero.Add(now), d.sent(c))
}

// Answered implements client.Policy: a refused call has no slot and is first
// in line again, as after Reacquire. A failed one is retried as a retry.Policy
// does by default, without its end.
func (d *driver) Answered(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (backoff time.Duration, keep bool) {
	f := d.feedback(c, a)
	at := d.zero.Add(now)
	f.RetryAfter, _ = d.closed.Heard(at, c.Seq, found[f.Verdict], f.RetryAfter, 0)
	d.OnResult(at, d.sent(c), inFlight, f)
	if f.Verdict == adaptive.Transient {
		return d.delay(c.Refusals), true
	}
	return 0, false
}

// delay is that of a retry.Policy after so many failures in a row: half a second
// that doubles up to 30 s, each drawn from half of it to one and a half, at most 30 s.
func (d *driver) delay(failures int) time.Duration {
	middle := min(30, 0.5*math.Pow(2, float64(failures-1)))
	return time.Duration(min(30, middle*(0.5+d.chance.Float64())) * float64(time.Second))
}

// Gauge implements client.Gauged.
func (d *driver) Gauge() client.Gauge {
	v := d.View()
	return client.Gauge{
		Window: float64(v.Concurrency), Pace: v.Pace[throttle.Requests], TokenPace: v.Pace[throttle.Tokens], Bound: v.Bound,
	}
}

func reserved(c *client.Call) throttle.Cost { return throttle.Cost{Requests: 1, Tokens: c.Guess} }

func (d *driver) sent(c *client.Call) throttle.Sent {
	return throttle.Sent{
		Seq: c.Seq, At: d.zero.Add(c.SentAt), InFlight: c.Others,
		Cost: reserved(c), Total: throttle.Cost{Requests: c.Seq, Tokens: c.Total},
	}
}

var found = [...]reopening.Verdict{ //nolint:gochecknoglobals // a table
	adaptive.OK: reopening.Passed, adaptive.Hit: reopening.Refused, adaptive.Overloaded: reopening.Refused, adaptive.Transient: reopening.Lost,
}

var kinds = [...]adaptive.Kind{ //nolint:gochecknoglobals // a table
	provider.Unnamed: adaptive.UnknownKind, provider.Requests: adaptive.KindRequests,
	provider.Tokens: adaptive.KindTokens, provider.Concurrency: adaptive.KindConcurrency,
}

func (d *driver) feedback(c *client.Call, a *provider.Answer) adaptive.Feedback {
	f := adaptive.Feedback{Verdict: adaptive.OK}
	f.Meters[throttle.Requests] = adaptive.Meter(a.Requests)
	f.Meters[throttle.Tokens] = adaptive.Meter(a.Tokens)
	switch {
	case a.Admitted && c.Reserved > 0:
		f.Used = throttle.Cost{Requests: 1, Tokens: c.Used}
	case a.Admitted:
	default:
		f.Verdict, f.RetryAfter, f.Kind = verdict(a), a.RetryAfter, kinds[a.Limit]
		if f.Verdict == adaptive.Transient {
			f.Kind = adaptive.KindOverload
		}
	}
	return f
}

// verdict is that of adaptive.DefaultDetector.
func verdict(a *provider.Answer) adaptive.Verdict {
	switch {
	case a.Status == provider.TooMany:
		return adaptive.Hit
	case a.Status == provider.Full, a.RetryAfter > 0:
		return adaptive.Overloaded
	default:
		return adaptive.Transient
	}
}
