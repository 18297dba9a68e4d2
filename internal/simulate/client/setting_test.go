package client_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

func TestARunLastsAsLongAsItIsSaid(t *testing.T) {
	last := func(lasts time.Duration) (at time.Duration) {
		w := setting(provider.Config{})
		w.Lasts = lasts
		run(t, w, playing(&script{
			admit: upTo(1),
			sent:  func(now time.Duration, _ *client.Call) { at = now },
		}))
		return at
	}
	assert.InDelta(t, client.WarmUp+client.Measured, last(0), float64(5*time.Second))
	assert.InDelta(t, client.WarmUp+time.Minute, last(time.Minute), float64(5*time.Second))
	assert.InDelta(t, client.WarmUp+time.Hour, last(time.Hour), float64(5*time.Second))
}

func TestAPartOfARunIsNotMeasured(t *testing.T) {
	measured := func(unmeasured time.Duration) client.Result {
		w := setting(provider.Config{Requests: provider.Bucket{PerMinute: 60, Burst: 1}})
		w.Unmeasured, w.Lasts = unmeasured, 10*time.Minute
		return run(t, w, playing(&script{admit: upTo(1)}))[0]
	}
	all, some := measured(0), measured(time.Hour)
	assert.Positive(t, all.Measured.Admitted)
	assert.InDelta(t, all.Measured.Admitted, some.Measured.Admitted, 0.1*float64(all.Measured.Admitted))
	assert.Equal(t, all.Cold, some.Cold)
	assert.Equal(t, all.First, some.First)
	assert.InDelta(t, 7, float64(some.Done-all.Cold.Admitted)/float64(all.Done-all.Cold.Admitted), 0.3, "an hour and ten minutes")
}

// calls returns the items of a world, as its policy sees them.
func calls(t *testing.T, alter func(*client.Setting)) (all []client.Call) {
	t.Helper()
	w := setting(provider.Config{Tokens: provider.Bucket{PerMinute: 60_000_000, Burst: 60_000}})
	w.Tokens = true
	alter(&w)
	run(t, w, playing(&script{
		admit: upTo(4),
		sent:  func(_ time.Duration, c *client.Call) { all = append(all, *c) },
	}))
	return all
}

// What a policy takes a call for changes neither the calls nor how long they take.
func TestGuesses(t *testing.T) {
	known := calls(t, func(*client.Setting) {})
	tenfold := calls(t, func(w *client.Setting) { w.Guess = client.Range{Low: 10, High: 10} })
	assert.Equal(t, known[0].Reserved, known[0].Guess)
	assert.Equal(t, 10*known[0].Reserved, tenfold[0].Guess)
	assert.Equal(t, known[0].Reserved, tenfold[0].Reserved)

	var low, high int
	var total int64
	for _, c := range calls(t, func(w *client.Setting) { w.Guess = client.Range{Low: 0.3, High: 3} }) {
		total += c.Guess
		assert.Equal(t, total, c.Total, "the policy adds up what it knows")
		switch factor := float64(c.Guess) / float64(c.Reserved); {
		case factor < 0.299 || factor > 3.001:
			t.Fatalf("guessed %g times the truth", factor)
		case factor < 0.949: // the geometric mean
			low++
		default:
			high++
		}
	}
	assert.InEpsilon(t, low, high, 0.1)
}

func TestHeavyTails(t *testing.T) {
	largest := func(tail float64) (most int64) {
		for _, c := range calls(t, func(w *client.Setting) { w.Tail = tail }) {
			most = max(most, c.Reserved)
			assert.True(t, c.Used <= c.Reserved && c.Reserved <= 45_000, "more than three quarters of the bucket")
		}
		return most
	}
	assert.Less(t, largest(0), int64(7025))
	assert.Greater(t, largest(1.8), int64(40_000))
}

// All processes are there when the warm-up is over, however many they are.
func TestManyProcessesJoinInTime(t *testing.T) {
	var seats []client.Seat
	w := setting(provider.Config{})
	w.Processes, w.Preset = 16, client.Preset{RequestsPerMinute: 7}
	run(t, w, client.Contender{New: func(s client.Seat) (client.Policy, error) {
		seats = append(seats, s)
		return &script{admit: upTo(1)}, nil
	}})
	for i, s := range seats {
		assert.Equal(t, i, s.Process)
		assert.Equal(t, 16, s.Processes)
		assert.Equal(t, 5*i, int(s.Start/time.Second))
		assert.Equal(t, client.Preset{RequestsPerMinute: 7}, s.Preset)
	}
	assert.Less(t, seats[15].Start, client.WarmUp)
}

// Calls that take their time on the way arrive, and are answered, in another order.
func TestTransits(t *testing.T) {
	const low, high = 100 * time.Millisecond, 900 * time.Millisecond
	play := func(alter func(*client.Setting)) (answered []int64, took []time.Duration) {
		w := setting(provider.Config{Requests: provider.Bucket{PerMinute: 600, Burst: 1}})
		w.Latency, w.Refusal, w.Lasts = time.Nanosecond, time.Nanosecond, time.Minute
		alter(&w)
		run(t, w, playing(&script{
			admit: upTo(20),
			answered: func(now time.Duration, c *client.Call, _ int, _ *provider.Answer) (time.Duration, bool) {
				answered, took = append(answered, c.Seq), append(took, now-c.SentAt)
				return 0, false
			},
		}))
		return answered, took
	}
	_, same := play(func(*client.Setting) {})
	assert.InDelta(t, 20*time.Millisecond, slices.Max(same), 1e3)
	mixed, took := play(func(w *client.Setting) { w.Transit = client.Between{Low: low, High: high} })
	assert.False(t, slices.IsSorted(mixed))
	assert.Greater(t, slices.Min(took), 2*low, "both ways")
	assert.Less(t, slices.Max(took), 2*high+time.Millisecond)
	assert.Greater(t, slices.Max(took)-slices.Min(took), high-low)
}

// A caller waits for its call, refused or not, before it has another one.
func TestCallers(t *testing.T) {
	var most, idle int
	w := setting(provider.Config{Cap: 3})
	w.Callers = 5
	results := run(t, w, playing(&script{
		sent:  func(_ time.Duration, c *client.Call) { most = max(most, c.Others+1) },
		slack: func(time.Duration) { idle++ },
	}))
	assert.Equal(t, 5, most)
	assert.Positive(t, idle)
	assert.Equal(t, results[0].Drawn, results[0].Done+results[0].Left)
	assert.LessOrEqual(t, results[0].Left, 5+1)
}

// A job is over when its last item is done.
func TestAJobEnds(t *testing.T) {
	var sent, most int
	w := setting(provider.Config{Errors: []provider.Errors{{Share: 0.3}}})
	w.Items, w.Callers = 10, 4
	slack := false
	all := run(t, w, playing(&script{
		sent:  func(_ time.Duration, c *client.Call) { sent, most = sent+1, max(most, c.Others+1) },
		slack: func(time.Duration) { slack = true },
	}))
	r := all[0]
	assert.Equal(t, 4, most)
	assert.Equal(t, 10, r.Drawn)
	assert.Equal(t, 10, r.Done)
	assert.Zero(t, r.Left)
	assert.Equal(t, r.Cold.Attempts, sent)
	assert.Greater(t, sent, 10, "some were rejected")
	assert.True(t, slack)
	assert.Greater(t, r.Took, time.Second)
	assert.Less(t, r.Took, 30*time.Second)

	w.Provider.Errors[0] = provider.Errors{Share: 1, For: time.Hour}
	all = run(t, w, playing(&script{}))
	assert.Equal(t, all[0].Drawn, all[0].Left)
	assert.Greater(t, all[0].Took, client.Measured, "it has not ended")
}
