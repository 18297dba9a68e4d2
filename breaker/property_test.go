package breaker_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
)

// model is a breaker that keeps its whole history and reads its state off it:
// what was admitted and how it ended, since when it is in which period.
type model struct {
	config  breaker.Config
	now     time.Time
	periods []*period // the last one is the present
	refused int
	calls   []*modelCall
}

type period struct {
	state breaker.State
	since time.Time
	calls []*modelCall // admitted in it
	ends  []breaker.Outcome
}

type modelCall struct {
	of     *period
	ticket breaker.Ticket
	ended  bool
}

func (m *model) present() *period { return m.periods[len(m.periods)-1] }

func (m *model) begin(s breaker.State) {
	m.periods = append(m.periods, &period{state: s, since: m.now})
}

// openFor counts the trials that failed since it was last closed.
func (m *model) openFor() time.Duration {
	d := m.config.Open
	for i := len(m.periods) - 1; i >= 0 && m.periods[i].state != breaker.Closed; i-- {
		if m.periods[i].state == breaker.HalfOpen && i < len(m.periods)-1 {
			d *= 2
		}
	}
	return min(d, m.config.MaxOpen)
}

func (m *model) state() breaker.State {
	if p := m.present(); p.state == breaker.Open && !m.now.Before(p.since.Add(m.openFor())) {
		return breaker.HalfOpen
	}
	return m.present().state
}

func (m *model) probes() (n int) {
	for _, c := range m.present().calls {
		if m.present().state == breaker.HalfOpen && !c.ended {
			n++
		}
	}
	return n
}

func (m *model) count(o breaker.Outcome) (n int) {
	for _, e := range m.present().ends {
		if e == o {
			n++
		}
	}
	return n
}

// row is how many failures came since the last success.
func (m *model) row() (n int) {
	for _, e := range slices.Backward(m.present().ends) {
		if e == breaker.Success {
			break
		}
		if e == breaker.Failure {
			n++
		}
	}
	return n
}

func (m *model) wait() time.Duration {
	switch {
	case m.state() == breaker.Open:
		return m.present().since.Add(m.openFor()).Sub(m.now)
	case m.present().state == breaker.HalfOpen && m.probes() == m.config.Probes:
		return m.config.Open / 10
	default:
		return 0
	}
}

func (m *model) allow(ticket breaker.Ticket) {
	if m.wait() > 0 {
		m.refused++
		return
	}
	if m.present().state == breaker.Open {
		m.begin(breaker.HalfOpen)
	}
	c := &modelCall{of: m.present(), ticket: ticket}
	c.of.calls = append(c.of.calls, c)
	m.calls = append(m.calls, c)
}

func (m *model) end(c *modelCall, o breaker.Outcome) {
	again := c.ended
	c.ended = true
	if again || c.of != m.present() {
		return
	}
	c.of.ends = append(c.of.ends, o)
	switch {
	case c.of.state == breaker.Closed && m.row() == m.config.Failures:
		m.begin(breaker.Open)
	case c.of.state == breaker.HalfOpen && m.count(breaker.Failure) > 0:
		m.begin(breaker.Open)
	case c.of.state == breaker.HalfOpen && m.count(breaker.Success) == m.config.Successes:
		m.begin(breaker.Closed)
	}
}

func TestBreakerAgainstTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := breaker.Config{
			Failures:  rapid.IntRange(1, 3).Draw(t, "failures"),
			Successes: rapid.IntRange(1, 3).Draw(t, "successes"),
			Probes:    rapid.IntRange(1, 3).Draw(t, "probes"),
			Open:      time.Duration(rapid.IntRange(10, 50).Draw(t, "open")) * time.Second,
		}
		config.MaxOpen = config.Open + time.Duration(rapid.IntRange(0, 300).Draw(t, "more"))*time.Second
		clock := clockwork.NewFakeClock()
		var told diary
		config.Clock, config.Observer = clock, &told
		b, err := breaker.New(config)
		require.NoError(t, err)
		m := &model{config: config, now: clock.Now()}
		m.begin(breaker.Closed)
		resets := 0

		advance := func(d time.Duration) {
			clock.Advance(d)
			m.now = m.now.Add(d)
		}
		allow := func(t *rapid.T) {
			ticket, err := b.Allow(t.Context())
			if want := m.wait(); want > 0 {
				open, ok := errors.AsType[*breaker.OpenError](err)
				require.True(t, ok)
				assert.Equal(t, want, open.RetryAfter)
				assert.Equal(t, m.state(), open.State)
			} else {
				require.NoError(t, err)
			}
			m.allow(ticket)
		}
		end := func(t *rapid.T) {
			if len(m.calls) == 0 {
				t.Skip("nothing to end")
			}
			back := rapid.IntRange(0, min(len(m.calls), 8)-1).Draw(t, "call")
			c := m.calls[len(m.calls)-1-back]
			o := rapid.SampledFrom([]breaker.Outcome{breaker.Success, breaker.Failure, breaker.Failure, breaker.Undecided}).Draw(t, "outcome")
			first := !c.ended
			m.end(c, o)
			assert.Equal(t, first, map[breaker.Outcome]func() bool{
				breaker.Success: func() bool { return c.ticket.End(t.Context(), nil) }, breaker.Undecided: c.ticket.Cancel,
				breaker.Failure: func() bool { return c.ticket.Failure(errDown) },
			}[o]())
		}
		t.Repeat(map[string]func(*rapid.T){
			"allow": allow, "allow again": allow, "end": end, "end again": end,
			"time":                      func(t *rapid.T) { advance(time.Duration(rapid.IntRange(1, 60).Draw(t, "s")) * time.Second) },
			"until it may go":           func(*rapid.T) { advance(m.wait()) },
			"until just before it may":  func(*rapid.T) { advance(max(0, m.wait()-1)) },
			"reset, but not very often": func(t *rapid.T) { reset(t, b, m, &resets) },
			"": func(t *rapid.T) {
				want := breaker.Stats{State: m.state(), RetryAfter: m.wait()}
				if m.present().state == breaker.Closed {
					want.Failures = m.row()
				}
				if m.present().state == breaker.HalfOpen {
					assert.Equal(t, m.count(breaker.Success), b.Successes())
				}
				for _, c := range m.calls {
					if !c.ended {
						want.InFlight++
					}
				}
				got := b.Stats()
				got.Admitted, got.Refused, got.Opened, got.Cause = 0, 0, 0, nil
				assert.Equal(t, want, got)
				assert.Equal(t, m.probes(), b.Probes())
				if resets == 0 {
					assert.Equal(t, int64(len(m.calls)), b.Stats().Admitted)
					assert.Equal(t, int64(m.refused), b.Stats().Refused)
					assert.Equal(t, m.opened(), b.Stats().Opened)
				}
				assert.Equal(t, m.changes(), told.kinds())
			},
		})
	})
}

func reset(t *rapid.T, b *breaker.Breaker, m *model, resets *int) {
	if rapid.IntRange(0, 9).Draw(t, "reset") != 0 {
		t.Skip("not now")
	}
	b.Reset()
	m.begin(breaker.Closed)
	*resets++
}

func (m *model) opened() (n int64) {
	for _, p := range m.periods {
		if p.state == breaker.Open {
			n++
		}
	}
	return n
}

// changes are the events that the history comes to.
func (m *model) changes() (kinds []event.Kind) {
	for i, p := range m.periods[1:] {
		if p.state != m.periods[i].state {
			kinds = append(kinds, map[breaker.State]event.Kind{
				breaker.Closed: event.BreakerClosed, breaker.Open: event.BreakerOpened, breaker.HalfOpen: event.BreakerHalfOpen,
			}[p.state])
		}
	}
	return kinds
}
