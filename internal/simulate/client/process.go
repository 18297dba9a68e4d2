package client

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// process is one client of the provider.
type process struct {
	run    *run
	policy Policy
	demand world.Chance // what the items are like: the same for every policy
	net    world.Chance // how long refusals take
	way    world.Chance // and calls and answers on their way

	joined   bool
	inFlight int // on the wire
	kept     int // sitting out a backoff
	line     line
	fresh    *Call // the next item when no call is in line; nil: there is none
	spare    []*Call
	seq      int64
	total    int64
	due      time.Duration // when the head of the line is asked about again
	armed    time.Duration // the earliest wake in the queue, which may come before that
	admitted time.Duration // when the last call was, or the demand came
	began    time.Duration
	come     int           // items that bursts have brought so far
	counted  time.Duration // as of when got.Waiting has been counted
	got      Result
}

const (
	// most is how many calls one process can have on the wire: it runs out of
	// sockets, and the simulator does not run away with a policy that lets everything go.
	most = 5000
	// tick is the shortest wait: a timer is no finer.
	tick = time.Microsecond
)

func newProcess(r *run, seed, index uint64) *process {
	p := &process{
		run: r, come: r.Bursts.Items, due: Forever, armed: Forever,
		demand: world.NewChance(seed, firstStream+2*index), net: world.NewChance(seed, firstStream+2*index+1),
		way: world.NewChance(seed, transitStream+index),
	}
	p.draw()
	return p
}

// draw takes the next item of the demand.
func (p *process) draw() {
	done := p.run.Items > 0 && p.got.Drawn == p.run.Items
	if p.fresh = nil; done || p.come > 0 && p.got.Drawn == p.come {
		return
	}
	if n := len(p.spare); n > 0 {
		p.fresh, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		p.fresh = &Call{}
	}
	p.fresh.draw(p.demand, &p.run.Setting)
	p.got.Drawn++
}

// burst brings the next items.
func (p *process) burst(now time.Duration) {
	p.countWaiting(now)
	b := p.run.Bursts
	if ends := b.Until > 0 && now >= b.Until; ends {
		p.come = 0
	} else {
		p.come += b.Items
		p.run.queue.At(p.run.nextBurst(now), event{what: burst, process: p})
	}
	if p.fresh == nil {
		p.draw()
	}
	p.pump(now)
}

// pump sends from the head of the line until the policy has it wait.
func (p *process) pump(now time.Duration) {
	p.due = Forever
	if p.run.ebb(now) {
		p.policy.Slack(now)
		return
	}
	for p.inFlight < most {
		if p.line.len == 0 && p.run.Callers > 0 && p.inFlight+p.kept >= p.run.Callers {
			p.policy.Slack(now)
			return
		}
		c := p.fresh
		if p.line.len > 0 {
			c = p.line.first()
		}
		if c == nil { // all items are under way
			p.policy.Slack(now)
			return
		}
		if wait := p.policy.Admit(now, c, p.inFlight); wait > 0 {
			p.arm(now, wait)
			return
		}
		if p.line.len > 0 {
			p.line.pop()
		} else {
			p.draw()
		}
		p.send(now, c)
	}
}

// arm sees to it that the head is asked about again in time. A wake that is in
// the queue already is used if it comes early enough, and armed anew then.
func (p *process) arm(now, wait time.Duration) {
	if wait >= Forever-now {
		return
	}
	p.due = now + max(wait, tick)
	if p.due < p.armed {
		p.armed = p.due
		p.run.queue.At(p.due, event{what: wake, process: p})
	}
}

func (p *process) wake(now time.Duration) {
	if now < p.armed {
		return
	}
	p.armed = Forever
	switch {
	case p.due <= now:
		p.pump(now)
	case p.due < Forever:
		p.armed = p.due
		p.run.queue.At(p.due, event{what: wake, process: p})
	}
}

func (p *process) send(now time.Duration, c *Call) {
	p.seq++
	p.total += c.Guess
	c.Seq, c.SentAt, c.Others, c.Total = p.seq, now, p.inFlight, p.total
	p.inFlight++
	p.count(now, Tally{Attempts: 1})
	p.policy.Sent(now, c)
	if p.run.omniscient {
		p.arrive(now, c)
		return
	}
	p.run.queue.At(now+p.transit(), event{what: arrive, process: p, call: c})
}

// transit is how long a call or an answer is on its way.
func (p *process) transit() time.Duration {
	t := p.run.Transit
	if t.High == 0 {
		return p.run.Net
	}
	return t.Low + stretch(t.High-t.Low, p.way.Float64())
}

// back is how long an answer is on its way. A semaphore over the network holds a
// place of a cap for both ways, and that of the oracle too; without a cap the
// oracle sees at once what happens at the provider.
func (p *process) back() time.Duration {
	switch {
	case !p.run.omniscient:
		return p.transit()
	case p.run.provider.Cap > 0:
		return p.transit() + p.transit()
	default:
		return 0
	}
}

func (p *process) arrive(now time.Duration, c *Call) {
	var cause provider.Cause
	c.answer, cause = p.run.provider.Arrive(now, c.Reserved)
	switch cause {
	case provider.None:
		p.count(c.SentAt, Tally{Admitted: 1})
		p.speaks(now)
		latency := stretch(c.latency, p.run.provider.Strain())
		p.run.queue.At(now+latency, event{what: depart, process: p, call: c})
		return
	case provider.Unlucky:
		p.count(c.SentAt, Tally{Refused: 1, Unlucky: 1})
	case provider.Limited:
		p.count(c.SentAt, Tally{Refused: 1})
	}
	late := stretch(p.run.Refusal, p.net.LogNormal(1, refusalSpread))
	if p.run.Transit.High > 0 {
		late += p.transit()
	}
	p.run.queue.At(now+late, event{what: refusal, process: p, call: c})
}

func (p *process) depart(now time.Duration, c *Call) {
	p.run.provider.Depart(now, c.Reserved, c.Used)
	p.run.queue.At(now+p.back(), event{what: answer, process: p, call: c})
}

func (p *process) answer(now time.Duration, c *Call) {
	p.inFlight--
	p.countWaiting(now)
	if p.got.Done++; p.got.Done == p.run.Items {
		p.got.Took = now - p.began
	}
	p.policy.Answered(now, c, p.inFlight, &c.answer)
	p.spare = append(p.spare, c)
	p.heard(now)
}

func (p *process) refusal(now time.Duration, c *Call) {
	p.inFlight--
	c.Refusals++
	if backoff, keep := p.policy.Answered(now, c, p.inFlight, &c.answer); keep {
		p.kept++
		p.run.queue.At(now+backoff, event{what: again, process: p, call: c})
	} else {
		p.line.pushFront(c)
	}
	p.heard(now)
}

// heard lets calls go after an answer; the omniscient hear those of the others too.
func (p *process) heard(now time.Duration) {
	if p.run.omniscient {
		p.run.pumpAll(now)
		return
	}
	p.pump(now)
}

func (p *process) again(now time.Duration, c *Call) {
	p.kept--
	p.line.pushBack(c)
	p.pump(now)
}

// speaks ends a time in which no call was admitted.
func (p *process) speaks(now time.Duration) {
	p.got.Silence = max(p.got.Silence, now-p.admitted)
	p.admitted = now
}

func (p *process) result() Result {
	r := p.got
	now := p.run.End()
	if r.Took == 0 {
		r.Took = now - p.began
		if p.joined && !p.run.ebb(now) {
			r.Silence = max(r.Silence, now-p.admitted)
		}
	}
	r.Waiting += p.waiting(now)
	if r.Left = p.inFlight + p.kept + p.line.len; p.fresh != nil {
		r.Left++
	}
	return r
}
