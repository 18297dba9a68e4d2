package law

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/throttle"
)

// driver is one process whose limiter obeys a law.
type driver struct {
	adaptive.State
	zero time.Time // where the world begins
}

// Drive makes a contender of law. With headers it hears what the provider
// tells in its meters. What a refusal names it always hears.
func Drive(name string, law adaptive.Law, headers bool) client.Contender {
	return client.Contender{Name: name, Headers: headers, New: func(s client.Seat) (client.Policy, error) {
		zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		state, err := law.Start(zero.Add(s.Start), s.Seed)
		if err != nil {
			return nil, err
		}
		return &driver{State: state, zero: zero}, nil
	}}
}

// Admit implements client.Policy.
func (d *driver) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	return d.State.Admit(d.zero.Add(now), reserved(c), inFlight)
}

// Slack implements client.Policy.
func (d *driver) Slack(now time.Duration) { d.State.Slack(d.zero.Add(now)) }

// Sent implements client.Policy.
func (d *driver) Sent(now time.Duration, c *client.Call) { d.OnSend(d.zero.Add(now), d.sent(c)) }

// Answered implements client.Policy: a refused call has no slot and is first
// in line again, as after Reacquire.
func (d *driver) Answered(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (backoff time.Duration, keep bool) {
	d.OnResult(d.zero.Add(now), d.sent(c), inFlight, d.feedback(c, a))
	return 0, false
}

// Gauge implements client.Gauged.
func (d *driver) Gauge() client.Gauge {
	v := d.View()
	return client.Gauge{
		Window: float64(v.Concurrency), Pace: v.Pace[throttle.Requests], TokenPace: v.Pace[throttle.Tokens], Bound: v.Bound,
	}
}

func reserved(c *client.Call) throttle.Cost { return throttle.Cost{Requests: 1, Tokens: c.Reserved} }

func (d *driver) sent(c *client.Call) throttle.Sent {
	return throttle.Sent{
		Seq: c.Seq, At: d.zero.Add(c.SentAt), InFlight: c.Others,
		Cost: reserved(c), Total: throttle.Cost{Requests: c.Seq, Tokens: c.Total},
	}
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
		f.Verdict, f.RetryAfter, f.Kind = adaptive.Hit, a.RetryAfter, kinds[a.Limit]
	}
	return f
}
