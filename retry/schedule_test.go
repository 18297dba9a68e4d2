package retry_test

import (
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/retry"
)

// delays returns every delay that p gives to an item that always fails.
func delays(p retry.Policy) []time.Duration {
	var ds []time.Duration
	s := p.Start()
	for {
		d, again := s.Next(io.EOF)
		if !again {
			return ds
		}
		ds = append(ds, d)
	}
}

func TestDelaysWithoutJitter(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		policy retry.Policy
		want   []time.Duration
	}{
		"defaults":                 {retry.Policy{}, []time.Duration{500 * ms, 1000 * ms}},
		"one attempt":              {retry.Policy{MaxAttempts: 1}, nil},
		"two attempts":             {retry.Policy{MaxAttempts: 2}, []time.Duration{500 * ms}},
		"up to the default Max":    {retry.Policy{MaxAttempts: 4, Initial: 10 * time.Second}, []time.Duration{10000 * ms, 20000 * ms, 30000 * ms}},
		"up to Max":                {retry.Policy{MaxAttempts: 5, Initial: 3 * ms, Max: 10 * ms}, []time.Duration{3 * ms, 6 * ms, 10 * ms, 10 * ms}},
		"threefold":                {retry.Policy{MaxAttempts: 4, Initial: ms, Multiplier: 3}, []time.Duration{ms, 3 * ms, 9 * ms}},
		"equal":                    {retry.Policy{MaxAttempts: 4, Initial: ms, Multiplier: 1}, []time.Duration{ms, ms, ms}},
		"Max alone, below 500 ms":  {retry.Policy{Max: 100 * ms}, []time.Duration{100 * ms, 100 * ms}},
		"Initial alone, over 30 s": {retry.Policy{Initial: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		"the longest":              {retry.Policy{Initial: math.MaxInt64}, []time.Duration{math.MaxInt64, math.MaxInt64}},
	} {
		tc.policy.NoJitter = true
		assert.Equal(t, tc.want, delays(tc.policy), name)
	}
}

// Each delay lies in the range that Policy.Jitter states, and none beyond Max.
func TestDelaysStayInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			MaxAttempts: rapid.IntRange(1, 20).Draw(t, "attempts"),
			Initial:     time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "initial")),
			Multiplier:  rapid.Float64Range(1, 10).Draw(t, "multiplier"),
			Jitter:      rapid.Float64Range(0.01, 0.99).Draw(t, "jitter"),
		}
		p.Max = time.Duration(rapid.Int64Range(int64(p.Initial), int64(24*time.Hour)).Draw(t, "max"))
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		got := delays(p)
		if len(got) != p.MaxAttempts-1 {
			t.Fatalf("%d delays for %d attempts", len(got), p.MaxAttempts)
		}
		middle := float64(p.Initial)
		for i, d := range got {
			slack := middle/1e4 + 2 // middles are cut to whole nanoseconds on the way
			low, high := middle*(1-p.Jitter)-slack, middle*(1+p.Jitter)+slack
			if float64(d) < low || float64(d) > high || d > p.Max {
				t.Fatalf("delay %d is %v; want %v to %v and at most %v", i, d, time.Duration(low), time.Duration(high), p.Max)
			}
			middle = min(middle*p.Multiplier, float64(p.Max))
		}
	})
}

// No policy that Validate accepts leads to a delay that is negative or beyond Max.
func TestDelaysNeverOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			MaxAttempts: 30,
			Initial:     time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "initial")),
			Multiplier:  rapid.Float64Range(1, math.MaxFloat64).Draw(t, "multiplier"),
			Jitter:      rapid.Float64Range(0, 0.9999).Draw(t, "jitter"),
		}
		p.Max = time.Duration(rapid.Int64Range(int64(p.Initial), math.MaxInt64).Draw(t, "max"))
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		for i, d := range delays(p) {
			if d < 0 || d > p.Max {
				t.Fatalf("delay %d is %d", i, d)
			}
		}
	})
}

// What would exceed Max is spread below it. Were it cut off, about half of the
// delays would be Max itself.
func TestJitterSpreadsAlsoAtMax(t *testing.T) {
	p := retry.Policy{MaxAttempts: 1001, Initial: time.Second, Max: time.Second}
	at, distinct := 0, make(map[time.Duration]bool)
	for _, d := range delays(p) {
		distinct[d] = true
		if d == time.Second {
			at++
		}
		if d < time.Second/2 || d > time.Second {
			t.Fatalf("%v is outside of its range", d)
		}
	}
	assert.Less(t, at, 10)
	assert.Greater(t, len(distinct), 900)
}

func TestNextStopsAtWhatIsNotRetried(t *testing.T) {
	p := retry.Policy{MaxAttempts: 5, NoJitter: true}
	for name, err := range map[string]error{"nil": nil, "permanent": retry.Permanent(io.EOF)} {
		s := p.Start()
		d, again := s.Next(err)
		assert.False(t, again, name)
		assert.Zero(t, d, name)
		assert.Equal(t, 1, s.Attempts(), "the attempt was made: "+name)
	}
}

func TestNextDoesNotAskAfterTheLastAttempt(t *testing.T) {
	asked := 0
	s := retry.Policy{MaxAttempts: 2, Retryable: func(error) bool { asked++; return true }}.Start()
	assert.Zero(t, s.Attempts())
	_, again := s.Next(io.EOF)
	assert.True(t, again)
	for range 3 { // and stays at no
		_, again = s.Next(io.EOF)
		assert.False(t, again)
	}
	assert.Equal(t, 1, asked)
	assert.Equal(t, 4, s.Attempts())
}

func TestStartOfAnInvalidPolicyNeverRetries(t *testing.T) {
	for _, p := range []retry.Policy{{Jitter: 2}, {MaxAttempts: -1}, {Multiplier: math.NaN()}, {Initial: 2, Max: 1}} {
		d, again := p.Start().Next(io.EOF)
		assert.False(t, again, "%+v", p)
		assert.Zero(t, d)
	}
}

// Regression: retry counters that were shared between parallel items let one
// item's failures eat another's attempts, and its delays grow.
func TestItemsDoNotShareASchedule(t *testing.T) {
	p := retry.Policy{MaxAttempts: 3, Initial: time.Second, NoJitter: true}
	a, b := p.Start(), p.Start()
	for _, want := range []time.Duration{time.Second, 2 * time.Second} {
		d, again := a.Next(io.EOF)
		assert.True(t, again)
		assert.Equal(t, want, d)
	}
	_, again := a.Next(io.EOF)
	assert.False(t, again)

	d, again := b.Next(io.EOF)
	assert.True(t, again, "a used up b's attempts")
	assert.Equal(t, time.Second, d, "a's delays were carried over to b")
	assert.Equal(t, 1, b.Attempts())
}

func TestPolicyIsSharedBetweenGoroutines(t *testing.T) {
	failed := errors.New("failed")
	p := retry.Policy{MaxAttempts: 4, Except: []error{io.EOF}, Retryable: func(err error) bool { return errors.Is(err, failed) }}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				s, attempts := p.Start(), 1
				for {
					if _, again := s.Next(failed); !again {
						break
					}
					attempts++
				}
				if attempts != 4 || s.Attempts() != 4 {
					t.Errorf("an item had %d attempts, counted as %d", attempts, s.Attempts())
				}
			}
		})
	}
	wg.Wait()
}

// A delay that was drawn beyond what a time.Duration holds is the longest one, not none.
func TestADelayThatOverflowsIsTheLongest(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	p := retry.Policy{MaxAttempts: 1000, Initial: 2 * century, Max: 2 * century, Jitter: 0.9}
	s := p.Start()
	for range 500 {
		delay, again := s.Next(errors.New("again"))
		require.True(t, again)
		assert.GreaterOrEqual(t, delay, century/5-time.Second)
		assert.LessOrEqual(t, delay, 2*century)
	}
}
