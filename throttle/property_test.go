package throttle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

// drawSpecs draws windows: two of requests, one of tokens, a bucket of input
// tokens and a calendar of output tokens, each with another maximum every time, or
// left out.
func drawSpecs(t *rapid.T) (specs []spec) {
	which := rapid.IntRange(0, 31).Draw(t, "windows")
	if which&1 != 0 {
		specs = append(specs, spec{unit: throttle.Requests, max: rapid.Int64Range(1, 5).Draw(t, "max"), per: 100 * time.Millisecond})
	}
	if which&2 != 0 {
		specs = append(specs, spec{unit: throttle.Requests, max: rapid.Int64Range(1, 12).Draw(t, "max"), per: time.Second})
	}
	if which&4 != 0 {
		per := rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second}).Draw(t, "per")
		specs = append(specs, spec{unit: throttle.Tokens, max: rapid.Int64Range(10, 40).Draw(t, "max"), per: per})
	}
	if which&8 != 0 {
		specs = append(specs, spec{unit: throttle.InputTokens, max: rapid.Int64Range(5, 20).Draw(t, "max"), rate: 10})
	}
	if which&16 != 0 {
		specs = append(specs, spec{unit: throttle.OutputTokens, max: rapid.Int64Range(5, 20).Draw(t, "max"), per: drawPer(t), fixed: true})
	}
	return specs
}

// drawSlots adds a sliding window with sub-slots, of points.
func drawSlots(t *rapid.T, specs []spec) []spec {
	if rapid.Bool().Draw(t, "slots") {
		specs = append(specs, spec{unit: throttle.Points, max: rapid.Int64Range(1500, 4000).Draw(t, "max"), per: drawPer(t)})
	}
	return specs
}

func drawPer(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{10 * time.Millisecond, time.Second, time.Minute}).Draw(t, "per")
}

func drawCost(t *rapid.T) throttle.Cost {
	return throttle.Cost{
		Requests: rapid.Int64Range(0, 2).Draw(t, "requests"),
		Tokens:   rapid.Int64Range(0, 12).Draw(t, "tokens"),
		Input:    rapid.Int64Range(0, 6).Draw(t, "input"),
		Output:   rapid.Int64Range(0, 6).Draw(t, "output"),
		Points:   500 * rapid.Int64Range(0, 3).Draw(t, "points"),
	}
}

func drawStep(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{
		1, 10 * time.Millisecond, 50 * time.Millisecond, 100*time.Millisecond - 1, 100 * time.Millisecond,
		333 * time.Millisecond, time.Second, 5 * time.Second,
	}).Draw(t, "step")
}

func check(t *rapid.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

// held is a permit with what should be noted of it.
type held struct {
	permit throttle.Permit
	sent   throttle.Sent
}

// endAny ends h in one of the five ways, does the same to the model, and
// reports whether the permit said that it was the first to.
func endAny(t *rapid.T, m *model, now time.Duration, h held, apply bool) (first, told bool) {
	t.Helper()
	actual := drawCost(t)
	nothing := func(throttle.Unit) int64 { return 0 }
	used := h.sent.Cost.Of // as reserved
	var heard *throttle.Sent
	hear := func(_ time.Time, s throttle.Sent) { heard = &s }
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		h.permit.Release()
	case 1:
		h.permit.Settle(actual)
		used = actual.Of
	case 2:
		h.permit.Cancel()
		used = nothing
	case 3:
		if actual != (throttle.Cost{}) {
			used = actual.Of
		}
		first, told = h.permit.End(actual, hear), true
	case 4:
		first, told = h.permit.CancelThen(hear), true
		used = nothing
	}
	check(t, !told || first == (heard != nil), "first %v, but f was called: %v", first, heard != nil)
	check(t, heard == nil || *heard == h.sent, "f heard %+v, not %+v", heard, h.sent)
	if apply {
		m.end(now, h.sent, used)
	}
	return first, told
}

// Whatever is done to a limiter without waiting calls, it agrees with the
// model: it admits exactly what is legal, returns exactly how long to wait, keeps
// the books, and an ended permit stays ended.
func TestLimiterAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fake := clockwork.NewFakeClockAt(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)) // where all calendars begin a period
		begin := fake.Now()
		m := &model{}
		m.setLimits(0, rapid.IntRange(0, 4).Draw(t, "concurrency"), drawSlots(t, drawSpecs(t)))
		l, err := throttle.New(m.limits(), throttle.WithClock(fake), throttle.WithName("x"))
		check(t, err == nil, "%v", err)
		var open, ended []held
		refused := int64(0)

		for range rapid.IntRange(1, 80).Draw(t, "ops") {
			now := fake.Since(begin)
			switch op := rapid.IntRange(0, 11).Draw(t, "op"); op {
			case 0, 1, 2, 3:
				c := drawCost(t)
				want := time.Duration(0)
				if m.possible(c) {
					want = m.wait(now, c)
				}
				var p throttle.Permit
				var err error
				if op == 0 {
					if !l.Allow(c) {
						err = throttle.ErrLimited
					}
				} else {
					p, err = l.TryAcquire(c)
				}
				var limited *throttle.LimitedError
				var impossible *throttle.CostError
				switch {
				case !m.possible(c):
					check(t, err != nil, "%+v admitted, which never fits", c)
					check(t, op == 0 || errors.As(err, &impossible), "%v", err)
				case err == nil:
					check(t, want == 0, "%+v admitted at %s, %s too early", c, now, want)
					s := m.admit(now, c, op != 0)
					s.At = fake.Now()
					if op == 0 {
						break
					}
					got, ok := p.Sent()
					check(t, ok && got == s, "noted %+v, not %+v", got, s)
					open = append(open, held{p, s})
				default:
					refused++
					check(t, errors.Is(err, throttle.ErrLimited), "%v", err)
					check(t, want > 0 || !m.exact(now), "%+v refused at %s, though it fits", c, now)
					if errors.As(err, &limited) && m.exact(now) {
						if want == throttle.Forever {
							want = time.Second
						}
						check(t, limited.RetryAfter == min(want, 24*time.Hour), "retry after %s, not %s", limited.RetryAfter, want)
						check(t, limited.Limiter == "x", "%q", limited.Limiter)
					}
				}
			case 4, 5, 6:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				first, told := endAny(t, m, now, open[i], true)
				check(t, first || !told, "the permit had ended")
				ended = append(ended, open[i])
				open = append(open[:i], open[i+1:]...)
			case 7:
				if len(ended) == 0 {
					continue
				}
				h := ended[rapid.IntRange(0, len(ended)-1).Draw(t, "which")]
				first, _ := endAny(t, m, now, h, false)
				check(t, !first, "a permit ended twice")
				_, ok := h.permit.Sent()
				check(t, !ok, "an ended permit still tells what was sent")
			case 8:
				if rapid.IntRange(0, 3).Draw(t, "later") > 0 {
					fake.Advance(1)
					now++
				} else {
					m.vague = true // of what was taken just now, a bucket may give back less
				}
				m.setLimits(now, rapid.IntRange(0, 4).Draw(t, "concurrency"), drawSlots(t, drawSpecs(t)))
				check(t, l.SetLimits(m.limits()) == nil, "refused")
			case 9:
				m.concurrency = rapid.IntRange(0, 4).Draw(t, "concurrency")
				check(t, l.SetConcurrency(m.concurrency) == nil, "refused")
			case 10:
				d := drawStep(t) - 100*time.Millisecond
				m.paused = max(m.paused, now+d)
				l.PauseUntil(fake.Now().Add(d))
				if rapid.Bool().Draw(t, "resume") {
					m.paused = 0
					l.Resume()
				}
			case 11:
				fake.Advance(drawStep(t))
			}
			s := l.Stats()
			check(t, s.InFlight == m.inFlight && m.inFlight == len(open), "%d in flight, not %d", s.InFlight, m.inFlight)
			check(t, s.Admitted == m.seq, "%d admitted, not %d", s.Admitted, m.seq)
			check(t, s.Refused == refused, "%d refused, not %d", s.Refused, refused)
		}
		for _, h := range open {
			h.permit.Release()
		}
		check(t, l.Stats().InFlight == 0, "a permit leaked")
	})
}

// Never more than max units of a sliding window in any interval of its length,
// never more than burst + rate*t of a bucket in any interval of length t:
// judged over all intervals, from nothing but what was admitted when.
func TestNoIntervalHoldsTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const per, burst, rate = time.Second, 6, 8
		sliding := rapid.SampledFrom([]int64{1, 5, 1024, 1025, 5000}).Draw(t, "max")
		fake := clockwork.NewFakeClock()
		begin := fake.Now()
		l, err := throttle.New(throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(sliding, per).Of(throttle.Tokens), throttle.Bucket(rate, burst).Of(throttle.Points),
		}}, throttle.WithClock(fake))
		check(t, err == nil, "%v", err)

		type admitted struct {
			permit         throttle.Permit
			at             time.Duration
			tokens, points int64
		}
		var log []admitted
		for range rapid.IntRange(1, 100).Draw(t, "ops") {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0, 1:
				c := throttle.Cost{
					Tokens: rapid.Int64Range(0, max(1, sliding/3)).Draw(t, "tokens"),
					Points: rapid.Int64Range(0, 4).Draw(t, "points"),
				}
				if p, err := l.TryAcquire(c); err == nil {
					log = append(log, admitted{p, fake.Since(begin), c.Tokens, c.Points})
				}
			case 2:
				fake.Advance(time.Duration(rapid.Int64Range(1, int64(per)/4).Draw(t, "step")))
			case 3:
				if len(log) == 0 {
					continue
				}
				a := &log[rapid.IntRange(0, len(log)-1).Draw(t, "which")]
				if _, ok := a.permit.Sent(); ok {
					a.tokens = rapid.Int64Range(0, a.tokens).Draw(t, "tokens used")
					a.points = rapid.Int64Range(0, a.points).Draw(t, "points used")
					a.permit.Settle(throttle.Cost{Tokens: a.tokens, Points: a.points})
				}
			}
		}
		for i, first := range log {
			tokens, points := int64(0), int64(0)
			for _, a := range log[i:] {
				d := a.at - first.at
				if d < per {
					tokens += a.tokens
				}
				points += a.points
				check(t, tokens <= sliding, "%d tokens in the %s from %s", tokens, d, first.at)
				check(t, float64(points) <= burst+rate*d.Seconds()+1e-6, "%d points in the %s from %s", points, d, first.at)
			}
		}
	})
}
