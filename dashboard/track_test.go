package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func emptyBoard() *board { return &board{limiters: map[string]*tracked{}} }

func admitted(name string, n int64) row {
	return row{name: name, stats: guard.Stats{Stats: throttle.Stats{Admitted: n}, Why: "0 in flight, 0 waiting: nothing holds it back"}}
}

func TestSamplesAreOfASecond(t *testing.T) {
	b := emptyBoard()
	at := func(after time.Duration, rows ...row) {
		b.update(epoch.Add(after), rows, reports{})
		if after%time.Second == 0 {
			b.sample(epoch.Add(after))
		}
	}
	at(0, admitted("api", 100)) // what was before is not of this second
	at(250*time.Millisecond, admitted("api", 105))
	busy := admitted("api", 120)
	busy.hits, busy.stats.Waits, busy.stats.Waited = 3, 4, 2*time.Second
	busy.stats.InFlight, busy.stats.Waiting, busy.stats.View.Pace[throttle.Requests], busy.stats.View.Concurrency = 7, 9, 12.5, 8
	at(time.Second, busy)
	at(3*time.Second, admitted("api", 130)) // a tick was late
	at(4*time.Second, admitted("api", 2))   // it was reset
	var c columns
	b.limiters["api"].series.fine.each(c.add)
	rate, slots := float32(12.5), int32(8)
	assert.Equal(t, columns{
		At: []float64{1793534400, 1793534401, 1793534403, 1793534404}, Admitted: []float32{0, 20, 5, 2}, Rate: []*float32{nil, &rate, nil, nil},
		Hits: []int32{0, 3, 0, 0}, Cap: []*int32{nil, &slots, nil, nil}, InFlight: []int32{0, 7, 0, 0}, Waiting: []int32{0, 9, 0, 0}, Wait: []float32{0, 0.5, 0, 0},
	}, c)
	assert.InDelta(t, 27./4, b.limiters["api"].PerSecond, 1e-9)
}

// A wait that does not end is seen: it would be 0 during a pause.
func TestWaitsThatDoNotEndAreShown(t *testing.T) {
	b := emptyBoard()
	at := func(second int, waiting int, waits int64, waited time.Duration, queued ...Queue) float32 {
		r := admitted("api", 1)
		r.stats.Waiting, r.stats.Waits, r.stats.Waited = waiting, waits, waited
		b.update(epoch.Add(time.Duration(second)*time.Second), []row{r}, reports{queues: queued})
		b.sample(epoch.Add(time.Duration(second) * time.Second))
		all := b.limiters["api"].series.fine.all
		return all[len(all)-1].wait
	}
	assert.Equal(t, []float32{0, 0, 1.5, 1.5, 2, 3}, []float32{
		at(0, 0, 0, 0), at(1, 2, 0, 0), // they have just begun to wait
		at(2, 2, 2, 3*time.Second), // two waits have ended
		at(3, 2, 2, 3*time.Second), at(4, 2, 2, 3*time.Second), at(5, 2, 2, 3*time.Second),
	})
	assert.InDelta(t, 90, at(6, 2, 2, 3*time.Second, Queue{"api", 3, 90 * time.Second}), 0, "the program's queue knows more")
	assert.InDelta(t, 7, at(7, 2, 3, 10*time.Second), 0)
	assert.Zero(t, at(8, 0, 3, 10*time.Second), "no call waits")

	r := admitted("late", 1)
	r.stats.Waiting = 2
	b.update(epoch.Add(8800*time.Millisecond), []row{r}, reports{})
	b.sample(epoch.Add(9 * time.Second))
	assert.InDelta(t, 0.2, b.limiters["late"].series.fine.all[0].wait, 1e-6, "it is known for no longer")
}

func TestHistoryIsBounded(t *testing.T) {
	s := newSeries()
	for i := range 3 * 7200 {
		one := sample{at: int64(i), admitted: 10, hits: 1, inFlight: int32(i % 10), waiting: int32(i % 10), wait: 1, rate: 5}
		s.add(one)
	}
	require.Len(t, s.fine.all, fineFor)
	require.Len(t, s.coarse.all, coarseFor)
	var fine, coarse columns
	s.fine.each(fine.add)
	s.coarse.each(coarse.add)
	assert.Equal(t, []float64{21.599, 21.598}, []float64{fine.At[599], fine.At[598]}, "the newest is the last")
	assert.Equal(t, []float64{21.599, 21.589}, []float64{coarse.At[719], coarse.At[718]})
	assert.Equal(t, float32(10), coarse.Admitted[0])
	assert.Equal(t, []int32{10, 9, 9}, []int32{coarse.Hits[0], coarse.InFlight[0], coarse.Waiting[0]}, "a sum, and the most")
	assert.InDelta(t, 10, s.fine.recent(), 1e-9)
	assert.Zero(t, newSeries().fine.recent())
}

func TestLimitersAreBounded(t *testing.T) {
	b := emptyBoard()
	var rows []row
	for i := range mostLimiters {
		rows = append(rows, admitted(fmt.Sprintf("idle %02d", i), 1))
	}
	b.update(epoch, rows, reports{})
	busy := admitted("busy", 1)
	busy.stats.InFlight = 1
	rows = append(rows, busy, admitted("never", 1))
	b.update(epoch.Add(time.Second), rows, reports{})
	assert.Len(t, b.limiters, mostLimiters)
	assert.Equal(t, 2, b.more)
	assert.NotContains(t, b.limiters, "busy", "all were active a moment ago")

	rows[0].stats.Waiting = 1
	b.update(epoch.Add(2*time.Second), rows, reports{})
	rows[0].stats.Waiting = 0
	b.update(epoch.Add(settled+time.Second), rows, reports{})
	assert.Len(t, b.limiters, mostLimiters)
	assert.Contains(t, b.limiters, "busy")
	assert.Contains(t, b.limiters, "idle 00", "it was active later than others")
	assert.NotContains(t, b.limiters, "never", "it does nothing either")
	assert.Len(t, b.gone, 1)

	b.update(epoch.Add(settled+2*time.Second), rows[:1], reports{})
	assert.Len(t, b.limiters, 1, "guards that are gone are not shown")
	assert.Len(t, b.delta(epoch, false, false).Gone, mostLimiters)
	assert.Empty(t, b.delta(epoch, false, false).Gone)
}

func TestAFrameHasWhatChanged(t *testing.T) {
	b := emptyBoard()
	names := func(f frame) (all []string) {
		for _, text := range f.Limiters {
			var l Limiter
			require.NoError(t, json.Unmarshal(text, &l))
			all = append(all, l.Name)
		}
		return all
	}
	rows := []row{admitted("b", 1), admitted("a", 1)}
	b.update(epoch, rows, reports{})
	b.sample(epoch)
	b.events = []Line{{ID: 1}, {ID: 2}}
	f := b.delta(epoch, true, true)
	assert.Equal(t, []string{"a", "b"}, names(f))
	assert.Len(t, f.Events, 2)
	assert.Len(t, f.Samples, 2)
	assert.True(t, f.Draining)
	rows[0].stats.Waiting = 1
	b.update(epoch.Add(tick), rows, reports{failed: map[string]int64{"c": 1}})
	b.events = []Line{{ID: 2}, {ID: 3}}
	f = b.delta(epoch, false, false)
	assert.Equal(t, []string{"b"}, names(f))
	assert.Equal(t, []Line{{ID: 3}}, f.Events)
	assert.Nil(t, f.Samples)
	assert.Nil(t, f.Clients, "as they were")
	b.update(epoch.Add(2*tick), rows, reports{failed: map[string]int64{"a": 1}})
	assert.Equal(t, []string{"a"}, names(b.delta(epoch, false, false)), "one of its calls failed")
}

func TestClientsHaveAShare(t *testing.T) {
	b := emptyBoard()
	count := func(after time.Duration, n ...int64) {
		all := make([]Client, len(n))
		for i := range n {
			all[i] = Client{Name: strconv.Itoa(i), Admitted: n[i]}
		}
		b.count(epoch.Add(after), all)
	}
	for s := range int64(60) {
		count(time.Duration(s)*time.Second, 1000+30*s, 10*s)
	}
	assert.InDelta(t, 30, b.clients[0].PerSecond, 0.1)
	assert.InDelta(t, 10, b.clients[1].PerSecond, 0.1)
	count(2*time.Minute, 2770, 590)
	assert.Zero(t, b.clients[0].PerSecond, "nothing in a minute")
	count(3*time.Minute, make([]int64, 3*mostClients)...)
	assert.Len(t, b.clients, mostClients)
	count(4 * time.Minute)
	assert.NotNil(t, b.delta(epoch, false, true).Clients, "that there are none is news")
}

func TestLimiter(t *testing.T) {
	windows := func(w ...throttle.Window) throttle.Limits { return throttle.Limits{Windows: w} }
	state := func(change func(*guard.Stats)) Limiter {
		s := guard.Stats{Why: "1 in flight, 2 waiting: held back by x"}
		change(&s)
		return limiter("api", epoch, &s, 0, 0)
	}
	l := state(func(s *guard.Stats) {
		s.View.Pace[throttle.Requests], s.View.Pace[throttle.Tokens] = 51.23456, math.Inf(1)
		s.Waiting, s.Bound.Kind = 1, throttle.BoundByGovernor
	})
	assert.Equal(t, Limiter{Name: "api", State: Waiting, Why: "Held back by x.", Rate: 51.235, Learned: map[string]float64{"requests": 51.235}, Waiting: 1}, l)

	l = state(func(s *guard.Stats) {
		s.Limits = windows(throttle.Sliding(600, time.Minute), throttle.Sliding(100, time.Second), throttle.Sliding(9, time.Minute).Of(throttle.Tokens))
		s.Limits.Concurrency, s.View.Concurrency, s.View.Pace[throttle.Requests] = 5, 9, 51
	})
	assert.Equal(t, 10., l.Rate)
	assert.Equal(t, []int{5, 9}, []int{l.Cap, l.LearnedCap})
	assert.Equal(t, "600/min, 100/s, 9 tokens/min, 5 concurrent", l.Limits)
	assert.Equal(t, "In the long run the limit decides: it is below the learned rate. Higher rates are not tried.", l.Note)
	assert.Equal(t, Open, l.State)

	l = state(func(s *guard.Stats) { s.PausedUntil = epoch.Add(time.Second) })
	assert.Equal(t, Paused, l.State)
	assert.Equal(t, epoch.Add(time.Second), *l.PausedUntil)
	assert.Contains(t, l.Note, "What was learned is kept.")
	assert.Equal(t, Open, state(func(s *guard.Stats) { s.PausedUntil = epoch }).State)
	l = state(func(s *guard.Stats) { s.Closed = adaptive.ErrQuotaExhausted; s.PausedUntil = epoch.Add(1) })
	assert.Equal(t, []string{Closed, "Calls fail at once. Resume reopens it."}, []string{l.State, l.Note})
	assert.Equal(t, Waiting, state(func(s *guard.Stats) { s.View.GateUntil = epoch.Add(1) }).State)
	assert.Equal(t, 0.25, state(func(s *guard.Stats) { s.Waits, s.Waited = 4, time.Second }).MeanWait)
}

// With a MaxWait calls wait for a provider that has closed the key.
func TestALongWaitIsNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Policy{Name: "api", MaxWait: time.Hour})
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- g.Do(ctx, throttle.Cost{}, func(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: 30 * time.Minute} })
		}()
		synctest.Wait()
		s := g.Stats()
		l := limiter("api", time.Now(), &s, 0, 0)
		assert.Equal(t, []string{Waiting, "Closed by the provider; one call probes it in 1m0s."}, []string{l.State, l.Why})
		end()
		require.Error(t, <-done)
	})
}

func TestSentence(t *testing.T) {
	for why, want := range map[string]string{
		"2 in flight of 2, 1 waiting: held back by the concurrency":                 "Held back by the concurrency.",
		"0 in flight, 1 waiting (without the store: timeout): held back by a pause": "0 in flight, 1 waiting (without the store: timeout): held back by a pause",
		"anything: else": "anything: else",
		"0 in flight: ":  "0 in flight: ",
		"":               "",
	} {
		assert.Equal(t, want, sentence(why))
	}
}

func TestRounded(t *testing.T) {
	for v, want := range map[float64]float64{0: 0, 51.23456: 51.235, 0.0001234567: 0.000123, 1234567.8912: 1234567.891, math.Inf(1): 0, -1.23456: -1.235} {
		assert.InDelta(t, want, rounded(v), 1e-12, "%g", v)
	}
	assert.Zero(t, rounded(math.NaN()))
}

func TestQueuesOfTheProgram(t *testing.T) {
	b := emptyBoard()
	asking := admitted("api", 1)
	asking.stats.Waiting = 3
	b.update(epoch, []row{asking, admitted("other", 1)}, reports{queues: []Queue{{"api", 40, 1500 * time.Millisecond}, {"gone", 5, time.Second}}})
	assert.Equal(t, []any{40, 1.5}, []any{b.limiters["api"].Waiting, b.limiters["api"].OldestWait})
	b.sample(epoch)
	assert.Equal(t, int32(40), b.limiters["api"].series.fine.all[0].waiting)
	assert.Zero(t, b.limiters["other"].Waiting)
	b.update(epoch, []row{asking}, reports{queues: []Queue{{"api", 2, time.Second}}})
	assert.Equal(t, 3, b.limiters["api"].Waiting, "others wait in the limiter alone")
	b.update(epoch, []row{asking}, reports{})
	assert.Zero(t, b.limiters["api"].OldestWait)
}
