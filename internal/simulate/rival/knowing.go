package rival

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// KnowsLimits is what the names of Knowing begin with.
const KnowsLimits = "knows the limits"

// Knowing returns clients that know the limits, each change of them when it happens, and
// the equal share of each process that has joined. They send at one of these parts of
// each rate. Of a window they send all that it allows, but evenly if they share it and
// cannot know when it begins. They do not know when other processes send, how long a call
// is on its way (only the longest and the shortest time), which calls an error strikes,
// or the tokens of an answer before it comes. What all of them miss, a client that has to
// learn the limits will hardly reach.
func Knowing() (all []client.Contender) {
	for _, pace := range []float64{0.98, 0.9, 0.7, 0.5} {
		name := fmt.Sprintf("%s, x%g", KnowsLimits, pace)
		all = append(all, client.Contender{Name: name, New: func(s client.Seat) (client.Policy, error) {
			return newKnowing(s, pace), nil
		}})
	}
	return all
}

const (
	// quietTrips refusal times after it was sent, a call has been admitted.
	quietTrips = 3
	// refusedInRow calls are an outage, in which single calls probe.
	refusedInRow = 3
	// longestProbe is the longest time between two probes.
	longestProbe = 30 * time.Second
)

// knowing plays its calls in a provider of its own, which has its share of the limits.
type knowing struct {
	client.Seat
	own    *provider.Provider
	turned int           // changes of the limits so far
	joined int           // processes so far
	quiet  time.Duration // after which a call that was not refused has been admitted
	turn   time.Duration // between two calls of a process that shares
	chance world.Chance

	gate  time.Duration // nothing is sent before
	last  int64         // the latest call that was refused
	row   int           // calls refused in a row
	pause time.Duration // between the probes of an outage; 0: there is none
	probe int64         // the call that probes; 0: none is out
}

func newKnowing(s client.Seat, pace float64) *knowing {
	w := s.Setting
	return &knowing{
		Seat: s, own: provider.New(shareOf(&s, pace), nil), joined: s.Processes,
		quiet:  quietTrips * (w.Refusal + 2*max(w.Net, w.Transit.High)),
		turn:   turnOf(&w.Provider, s.Processes),
		chance: world.NewChance(s.Seed, 0),
	}
}

// learn takes up what has changed.
func (k *knowing) learn(now time.Duration) {
	changes := k.Setting.Changes
	for ; k.turned < len(changes) && changes[k.turned].At <= now; k.turned++ {
		k.own.Apply(now, changes[k.turned])
	}
	joined := min(k.Processes, 1+int(now/max(1, k.Apart)))
	if joined != k.joined { // at first all of them were assumed
		k.own.Apply(now, provider.Change{Factor: float64(k.joined) / float64(joined)})
		k.joined = joined
	}
	if p := k.Provider; p.Cap > 0 {
		k.own.Cap = part(p.Cap, k.Process, joined)
	} else if p.Overload > 0 { // at one place less, as for the oracle
		k.own.Overload = 1 + part(p.Overload-1, k.Process, joined)
	}
}

// Admit implements client.Policy.
func (k *knowing) Admit(now time.Duration, c *client.Call, _ int) (wait time.Duration) {
	k.learn(now)
	if wait = k.gate - now; wait <= 0 {
		if k.probe > 0 { // it was not refused: the outage is over
			k.row, k.pause, k.probe = 0, 0, 0
		}
		if wait = k.own.Wait(now, c.Reserved); wait > 0 && wait < client.Forever {
			wait += late
		}
	}
	if changes := k.Setting.Changes; wait > 0 && k.turned < len(changes) {
		wait = min(wait, changes[k.turned].At-now)
	}
	return wait
}

// Slack implements client.Policy.
func (k *knowing) Slack(time.Duration) {}

// Sent implements client.Policy.
func (k *knowing) Sent(now time.Duration, c *client.Call) {
	k.own.Arrive(now, c.Reserved)
	if k.pause > 0 {
		k.probe, k.gate = c.Seq, now+k.quiet
	}
}

// Answered implements client.Policy. A refused call has used its turn.
func (k *knowing) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	k.own.Depart(now, c.Reserved, c.Used)
	if a.Admitted {
		return 0, false
	}
	if k.row++; c.Seq > k.last+1 {
		k.row = 1
	}
	k.last = max(k.last, c.Seq)
	switch {
	case k.pause == 0 && k.row >= refusedInRow:
		k.pause = k.quiet
		k.gate = now + k.pause
	case k.pause == 0:
		k.gate = max(k.gate, now+stretch(k.turn, k.chance.Float64())) // out of the way of those that it has collided with
	case k.probe > 0 && c.Seq >= k.probe:
		k.pause, k.probe = min(longestProbe, 2*k.pause), 0
		k.gate = now + k.pause
	}
	return 0, false
}

// turnOf is the longest time between two calls of a process that shares the limits on
// calls of p, 0 if it shares none.
func turnOf(p *provider.Config, processes int) (turn time.Duration) {
	if processes == 1 {
		return 0
	}
	if r := p.Requests.PerMinute; r > 0 {
		turn = stretch(time.Minute, float64(processes)/r)
	}
	for _, q := range quotasOf(p) {
		turn = max(turn, stretch(q.Per, float64(processes)/float64(q.Max)))
	}
	return turn
}

// part is what the process with this number has of n. The parts add up to n.
func part(n, process, processes int) int { return (n + process) / processes }

// shareOf is what one of the processes has of the limits on calls and tokens per time, at
// a part of each rate. Windows and logs are longer by as much as calls differ on their way.
func shareOf(s *client.Seat, pace float64) provider.Config {
	p := s.Setting.Provider
	n, spread := float64(s.Processes), s.Setting.Transit.High-s.Setting.Transit.Low
	own := provider.Config{
		Requests: provider.Bucket{PerMinute: p.Requests.PerMinute * pace / n, Burst: max(min(1, p.Requests.Burst), p.Requests.Burst/n)},
		Tokens:   provider.Bucket{PerMinute: p.Tokens.PerMinute * pace / n, Burst: p.Tokens.Burst}, // it has to hold a whole call
	}
	for _, q := range quotasOf(&p) {
		switch {
		case q.Count == provider.Refilled:
			q.Per, q.Burst = stretch(q.Per, n/pace), max(1, cmp.Or(q.Burst, float64(q.Max))/n)
		case s.Processes > 1 && (q.Count != provider.Clock || q.Max < s.Processes):
			q.Per, q.Burst, q.Count = stretch(q.Per, n/pace), 1, provider.Refilled
		default:
			q.Max = part(q.Max, s.Process, s.Processes)
		}
		if q.Count == provider.FirstCall || q.Count == provider.Exactly {
			q.Per += spread
		}
		own.More = append(own.More, q)
	}
	return own
}

// quotasOf are the limits of p that are counted in windows, or beside its bucket.
func quotasOf(p *provider.Config) []provider.Quota {
	all := slices.DeleteFunc(slices.Clone(p.More), func(q provider.Quota) bool { return q.Hollow })
	if p.Minute > 0 {
		all = append(all, provider.Quota{Max: p.Minute, Per: time.Minute})
	}
	if p.Log.Max > 0 {
		all = append(all, provider.Quota{Max: p.Log.Max, Per: p.Log.Per, Count: provider.Exactly})
	}
	return all
}

func stretch(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
