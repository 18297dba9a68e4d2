package adaptive_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func TestRetryAfterIsALowerBoundForEverybody(t *testing.T) {
	latest := time.Duration(0)
	for seed := range uint64(200) {
		m := startSeed(t, adaptive.AIMD{}, seed)
		m.trip(1, rtt, hitAfter(20*time.Second))
		assertJittered(t, 20*time.Second, m.gate())
		assert.Equal(t, m.gate(), m.admit(0))
		latest = max(latest, m.gate())
	}
	assert.Greater(t, latest, 21*time.Second, "there is jitter")
}

func TestALaterShorterRetryAfterNeverShortens(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	sent := m.send(4)
	m.after(rtt).answer(hitAfter(time.Minute), sent[0])
	gate := m.View().GateUntil
	m.after(rtt).answer(hitAfter(time.Second), sent[1])
	m.answer(of(adaptive.Hit), sent[2])
	m.answer(of(adaptive.OK), sent[3])
	assert.Equal(t, gate, m.View().GateUntil)
}

func TestTheGateOpensOnTime(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	m.trip(1, rtt, hitAfter(time.Minute))
	m.after(m.gate() - 1)
	assert.Equal(t, time.Duration(1), m.admit(0))
	m.after(1)
	assert.Zero(t, m.admit(0))
}

func TestBackoffWithoutRetryAfterDoublesPerEpoch(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	epoch := func(want time.Duration) {
		t.Helper()
		m.trip(3, rtt, of(adaptive.Hit)) // three of one burst are one epoch
		assertJittered(t, want, m.gate())
		m.after(m.gate())
	}
	const half = 500 * time.Millisecond
	for _, want := range []time.Duration{half, 2 * half, 4 * half, 8 * half, 16 * half, 32 * half, 30 * time.Second, 30 * time.Second} {
		epoch(want)
	}
	for range 100 {
		m.trip(1, rtt, of(adaptive.Hit))
		m.after(m.gate())
	}
	epoch(30 * time.Second)

	m.trip(1, rtt, of(adaptive.OK))
	epoch(half)
	epoch(2 * half)
}

// A success of a call from before the last refusal says nothing about now.
func TestAnOldSuccessDoesNotEndTheBackoff(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	old := m.send(1)
	m.trip(1, rtt, of(adaptive.Hit))
	m.after(m.gate()).answer(of(adaptive.OK), old...)
	m.trip(1, rtt, of(adaptive.Hit))
	assertJittered(t, time.Second, m.gate())
}

func TestALongRetryAfterIsNotTheLawsToWaitFor(t *testing.T) {
	for _, law := range []adaptive.Law{adaptive.AIMD{}, adaptive.Measured{}} {
		for _, long := range []time.Duration{math.MaxInt64, 200 * 365 * 24 * time.Hour, adaptive.MaxRetryAfter + 1} {
			m := start(t, law)
			before := m.View().Concurrency
			m.trip(1, rtt, hitAfter(long))
			assert.Zero(t, m.admit(0))
			assert.Equal(t, before, m.View().Concurrency, "it teaches nothing")
			assert.EqualValues(t, 1, m.View().Hits)
		}
	}
}

func TestANegativeRetryAfterWasNotSaid(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	m.trip(1, rtt, hitAfter(math.MinInt64))
	assertJittered(t, 500*time.Millisecond, m.gate())
}

// departures lets up to n callers go as early as the controller allows, without any
// answer in between, and returns when they went, counted from now.
func departures(t *testing.T, m *machine, n int) (at []time.Duration) {
	t.Helper()
	from := m.now
	for inFlight := range n {
		for wait := m.admit(inFlight); wait > 0; wait = m.admit(inFlight) {
			require.NotEqual(t, throttle.Forever, wait)
			m.after(wait)
		}
		at = append(at, m.now.Sub(from))
		m.send(1)
	}
	return at
}

// All waiting calls would otherwise arrive as the next burst.
func TestTheGateReopensStepByStepOverOneRoundTrip(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	m.trip(1, rtt, of(adaptive.OK))
	m.trip(1, rtt, hitAfter(10*time.Second))
	require.Equal(t, 4, m.window())
	m.after(m.gate())
	assert.Equal(t, []time.Duration{0, rtt / 4, rtt / 2, 3 * rtt / 4}, departures(t, m, 4))
	assert.Equal(t, throttle.Forever, m.admit(4), "the learned concurrency holds as well")
}

func TestAfterOneRoundTripTheGateIsOpen(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	m.trip(1, rtt, of(adaptive.OK))
	m.trip(1, rtt, hitAfter(10*time.Second))
	m.after(m.gate() + rtt)
	assert.Equal(t, []time.Duration{0, 0, 0, 0}, departures(t, m, 4))
}

// Refusals come back within a millisecond; taken for the latency, they would
// admit all calls within a millisecond.
func TestFastRefusalsAreNotLatency(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	m.trip(1, rtt, of(adaptive.OK))
	for range 100 {
		m.trip(1, time.Millisecond, of(adaptive.Hit))
		m.trip(1, time.Millisecond, of(adaptive.Overloaded))
		m.trip(1, time.Millisecond, of(adaptive.Transient))
	}
	m.after(m.gate())
	m.trip(1, rtt, of(adaptive.OK)) // the window is 1; let it grow to 2
	for range 9 {
		m.trip(1, rtt, of(adaptive.OK))
	}
	require.Equal(t, 2, m.window())
	m.trip(1, rtt, hitAfter(time.Second))
	require.Equal(t, 1, m.window())
	m.after(m.gate())
	m.send(1)
	m.after(rtt - 1)
	assert.Equal(t, time.Duration(1), m.admit(0), "one call per round trip of a second")
}

// The round trip is smoothed with a gain of 1/8: one slow answer moves it little.
func TestTheRoundTripIsSmoothed(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 2, Max: 2})
	m.trip(1, rtt, of(adaptive.OK))
	m.trip(1, 9*rtt, of(adaptive.OK)) // 1 s + 8 s / 8
	m.trip(1, rtt, hitAfter(time.Second))
	m.after(m.gate())
	m.send(1)
	assert.Equal(t, 2*rtt, m.admit(0))
}
