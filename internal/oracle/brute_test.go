package oracle

import (
	"math/big"
	"time"
)

// text is a rule as the brute force reads it, of which a Rule is made.
type text struct {
	kind      string
	unit      int
	max, rate int64
	per       time.Duration
	anchor    time.Time
	epoch     time.Time
	slack     time.Duration
	scale     time.Duration // all times are multiples of it
}

func (x text) rule() Rule {
	var r Rule
	switch x.kind {
	case "sliding":
		r = Sliding(x.unit, x.max, x.per)
	case "bucket":
		r = Bucket(x.unit, x.rate, x.per, x.max)
	case "fixed":
		r = Fixed(x.unit, x.max, x.per, x.anchor, x.epoch)
	case "concurrency":
		r = Concurrency(x.max)
	case "fifo":
		r = FIFO()
	}
	return r.WithSlack(x.slack)
}

// script is a log in which texts[To] stands for the rule of a Resize.
type script struct {
	log   []Entry
	texts []text // what is in force after each entry
}

// left is what the entry q weighs when p is judged.
func (s script) left(q, p, unit int) int64 {
	e := s.log[q]
	if e.Kind != Admission && e.Kind != Debit {
		return 0
	}
	n := e.Weights[unit]
	for _, g := range s.log[:p+1] {
		if g.Kind == GiveBack && g.Of == q {
			n -= g.Weights[unit]
		}
	}
	return n
}

// excess is how far the admission p goes beyond the rule that begins as first,
// by trying everything. It is nil if the rule has nothing to say.
func (s script) excess(p int, first text) *big.Rat {
	x, e := s.texts[p], s.log[p]
	if e.Kind != Admission || x.kind != "concurrency" && x.kind != "fifo" && e.Weights[x.unit] == 0 {
		return nil
	}
	n := int64(0)
	switch x.kind {
	case "fifo":
		if e.Ticket == 0 {
			return nil
		}
		if !e.Returning {
			for _, q := range s.log[:p] {
				if q.Kind == Admission {
					n = max(n, q.Ticket-e.Ticket)
				}
			}
		}
		return big.NewRat(n, 1)
	case "concurrency":
		for _, q := range s.log[:p+1] {
			switch q.Kind {
			case Admission:
				n++
			case End:
				n--
			default:
			}
		}
	case "bucket":
		return s.bucketExcess(p, first)
	default:
		for q := range p + 1 {
			if s.log[q].At >= s.start(p, first) {
				n += s.left(q, p, x.unit)
			}
		}
		if e.At < s.start(p, first) {
			return nil
		}
	}
	return big.NewRat(n-x.max, 1)
}

// start is the first instant that counts for p.
func (s script) start(p int, first text) time.Duration {
	x, start := first, time.Duration(-1<<62)
	end := start
	for q := range p + 1 {
		at := s.log[q].At
		if x.kind == "fixed" && at >= end {
			start, end = x.period(at)
			start += x.slack
		}
		if s.log[q].Kind != Resize {
			continue
		}
		if x.kind == "sliding" {
			start = max(start, at-x.per+x.slack+1)
		}
		x = s.texts[q]
		if x.kind == "fixed" {
			_, end = x.period(at)
		}
	}
	if x.kind == "sliding" {
		start = max(start, s.log[p].At-x.per+x.slack+1)
	}
	return start
}

// period walks there, day by day or step by step.
func (x text) period(at time.Duration) (begin, end time.Duration) {
	t := x.epoch.Add(at)
	next := func(b time.Time, k int) time.Time {
		if days := int(x.per / (24 * hr)); x.per%(24*hr) == 0 {
			y, m, d := x.anchor.Date()
			h, mi, s := x.anchor.Clock()
			return time.Date(y, m, d+k*days, h, mi, s, x.anchor.Nanosecond(), x.anchor.Location())
		}
		return b.Add(x.per)
	}
	k, b := 0, x.anchor
	if b.After(t) {
		panic("the brute force only walks forwards")
	}
	for {
		k++
		n := next(b, k)
		if n.After(t) {
			return b.Sub(x.epoch), n.Sub(x.epoch)
		}
		b = n
	}
}

func (s script) bucketExcess(p int, first text) *big.Rat {
	x := s.texts[p]
	before := func(q int) text { // in force before the entry q
		if q == 0 {
			return first
		}
		return s.texts[q-1]
	}
	var worst *big.Rat
	sum := new(big.Rat)
	for i := p; i >= 0; i-- {
		sum.Add(sum, big.NewRat(s.left(i, p, x.unit)+s.texts[i].max-before(i).max, 1))
		if worst == nil || sum.Cmp(worst) > 0 {
			worst = new(big.Rat).Set(sum)
		}
		if i > 0 {
			r := before(i)
			sum.Sub(sum, big.NewRat(int64(s.log[i].At-s.log[i-1].At)*r.rate, int64(r.per)))
		}
	}
	worst.Sub(worst, big.NewRat(x.max, 1))
	return worst.Sub(worst, big.NewRat(int64(x.slack)*x.rate, int64(x.per)))
}
