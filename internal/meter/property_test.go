package meter

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// call is what a model remembers of a call, or of a debit: then number is 0.
type call struct {
	number int64
	at     Instant
	n      int64
}

// model counts call by call what is left of each in a sliding window or a calendar.
type model struct {
	Window
	guard time.Duration
	ends  Instant // of the calendar's period
	calls []call
}

func (m *model) period(now Instant) Instant { return now - now%m.Per + m.Per }

func (m *model) forget(now Instant) {
	since := now - m.Per - m.guard + 1
	if m.Kind == CalendarWindow {
		if now < m.ends {
			return
		}
		since = m.ends - m.guard
		if m.ends = m.period(now); m.ends > since+m.guard+m.Per {
			since = now
		}
	}
	m.calls = slices.DeleteFunc(m.calls, func(c call) bool { return c.at < since })
}

func (m *model) spent(now Instant) (sum int64) {
	m.forget(now)
	for _, c := range m.calls {
		sum += c.n
	}
	return sum
}

func (m *model) change(now Instant, w Window) {
	m.forget(now)
	m.Window = w
	m.ends = m.period(now)
}

// Whatever is taken, settled, cancelled and changed, a window never counts less
// than the calls that it has not forgotten, and exactly these if it keeps them
// one by one.
func TestChangedWindowsGiveBackByCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{SlidingWindow, CalendarWindow}).Draw(t, "kind")
		guard := rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Millisecond}).Draw(t, "guard")
		exact := kind == SlidingWindow || guard == 0
		draw := func() Window {
			w := Window{Kind: kind, Anchor: time.Unix(0, 0).UTC()}
			w.Max = rapid.SampledFrom([]int64{20, maxStamps + 1, 3000}).Draw(t, "max")
			w.Per = rapid.SampledFrom([]time.Duration{10 * time.Millisecond, time.Second, time.Minute}).Draw(t, "per")
			exact = exact && (kind == CalendarWindow || w.Max <= maxStamps)
			return w
		}
		now, last := Instant(0), int64(0)
		m := &model{Window: draw(), guard: guard}
		m.ends = m.period(0)
		gauges := []Gauge{New(m.Window, time.Unix(0, 0), guard, 0)}
		var open []call
		for range rapid.IntRange(1, 60).Draw(t, "ops") {
			g := &gauges[0]
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				now += rapid.SampledFrom([]time.Duration{
					1, 4 * time.Millisecond, 11 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute,
				}).Draw(t, "step")
			case 1, 2:
				n := rapid.Int64Range(1, g.Max).Draw(t, "n")
				if g.Wait(now, n) > 0 {
					continue
				}
				if sum := m.spent(now); sum+n > g.Max {
					t.Fatalf("%d units admitted at %s beside %d of %d", n, now, sum, g.Max)
				}
				g.Take(now, n)
				last++
				m.calls = append(m.calls, call{last, now, n})
				open = append(open, call{last, now, n})
			case 3:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				c := open[i]
				open = slices.Delete(open, i, i+1)
				used := rapid.SampledFrom([]int64{0, c.n / 2, c.n + 3}).Draw(t, "used")
				m.forget(now)
				g.Settle(now, c.number, c.at, c.n-used)
				if used > c.n {
					m.calls = append(m.calls, call{at: now, n: used - c.n})
				} else if j := slices.IndexFunc(m.calls, func(k call) bool { return k.number == c.number }); j >= 0 {
					m.calls[j].n = used
				}
			case 4:
				m.change(now, draw())
				next := New(m.Window, time.Unix(0, 0), guard, last)
				next.Inherit(now, gauges, 0)
				gauges[0] = next
			}
			want, got := m.spent(now), gauges[0].Spent(now)
			if got < want || exact && got != want {
				t.Fatalf("%d count at %s, not %d", got, now, want)
			}
		}
	})
}
