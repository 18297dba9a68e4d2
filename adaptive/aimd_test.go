package adaptive_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

const rtt = time.Second

func TestAIMDDefaults(t *testing.T) {
	m := start(t, adaptive.AIMD{})
	assert.Equal(t, adaptive.View{Concurrency: 5}, m.View())

	m.trip(1, rtt, of(adaptive.Hit))
	assert.Equal(t, 2, m.window(), "5 * 0.5, rounded down")
	m.after(time.Minute).trip(9, rtt, of(adaptive.OK))
	assert.Equal(t, 2, m.window(), "one success short of the threshold of 10")
	m.trip(1, rtt, of(adaptive.OK))
	assert.Equal(t, 3, m.window(), "2.5 + 1")

	for range 100 {
		m.trip(10, rtt, of(adaptive.OK))
	}
	assert.Equal(t, 20, m.window())
	for range 100 {
		m.after(time.Minute).trip(1, rtt, of(adaptive.Hit))
	}
	assert.Equal(t, 1, m.window())
}

func TestAIMDDefaultsFollowTheBounds(t *testing.T) {
	for _, tc := range []struct {
		law  adaptive.AIMD
		want int
	}{
		{adaptive.AIMD{Max: 3}, 3},
		{adaptive.AIMD{Min: 8}, 8},
		{adaptive.AIMD{Min: 2, Max: 2}, 2},
		{adaptive.AIMD{Initial: 20}, 20},
		{adaptive.AIMD{Max: math.MaxInt}, 5},
	} {
		assert.Equal(t, tc.want, start(t, tc.law).window(), "%+v", tc.law)
	}
}

func TestAIMDValidation(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		law    adaptive.AIMD
		fields []string
	}{
		{adaptive.AIMD{}, nil},
		{adaptive.AIMD{Initial: 1, Min: 1, Max: 1, Backoff: 0.999, RecoveryThreshold: 1, RecoveryFactor: 1}, nil},
		{adaptive.AIMD{Min: -1}, []string{"Min"}},
		{adaptive.AIMD{Max: -1}, []string{"Max"}},
		{adaptive.AIMD{Min: 7, Max: 6}, []string{"Max"}},
		{adaptive.AIMD{Initial: 21}, []string{"Initial"}},
		{adaptive.AIMD{Initial: 4, Min: 5}, []string{"Initial"}},
		{adaptive.AIMD{Initial: -1}, []string{"Initial"}},
		{adaptive.AIMD{Backoff: 1}, []string{"Backoff"}},
		{adaptive.AIMD{Backoff: -0.5}, []string{"Backoff"}},
		{adaptive.AIMD{Backoff: nan}, []string{"Backoff"}},
		{adaptive.AIMD{RecoveryThreshold: -1}, []string{"RecoveryThreshold"}},
		{adaptive.AIMD{RecoveryFactor: 0.9}, []string{"RecoveryFactor"}},
		{adaptive.AIMD{RecoveryFactor: nan}, []string{"RecoveryFactor"}},
		{adaptive.AIMD{RecoveryFactor: inf}, []string{"RecoveryFactor"}},
		{
			adaptive.AIMD{Initial: 9, Min: -2, Max: 3, Backoff: 2, RecoveryThreshold: -1, RecoveryFactor: -1},
			[]string{"Min", "Initial", "Backoff", "RecoveryThreshold", "RecoveryFactor"},
		},
	} {
		assert.Equal(t, tc.fields, fieldsOf(tc.law.Validate()), "%+v", tc.law)
		_, err := tc.law.Start(time.Time{}, 1)
		assert.Equal(t, tc.fields, fieldsOf(err), "Start of %+v", tc.law)
	}
}

// fieldsOf lists the fields that err complains about, in order.
func fieldsOf(err error) (fields []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			fields = append(fields, fieldsOf(e)...)
		}
	} else if field, ok := errors.AsType[*fault.FieldError](err); ok {
		fields = append(fields, field.Field)
	}
	return fields
}

// The calls of one burst are refused one by one; a cut for each would leave 1.
func TestABurstOfRefusalsCutsOnce(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	burst := m.send(8)
	for _, s := range burst {
		m.after(time.Millisecond).answer(of(adaptive.Hit), s)
	}
	assert.Equal(t, 4, m.window())
	assert.Equal(t, int64(8), m.View().Hits)
	assert.Equal(t, int64(1), m.View().Cuts)
}

func TestEveryEpochCutsOnce(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 16})
	for _, want := range []int{8, 4, 2, 1, 1} {
		m.trip(16, rtt, of(adaptive.Hit))
		assert.Equal(t, want, m.window())
		m.after(time.Minute)
	}
	assert.Equal(t, int64(4), m.View().Cuts, "nothing was cut below Min")
}

// Calls sent at the very instant of a cut, but after it, belong to the next epoch.
func TestTheEpochCountsCallsWithinAnInstant(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	before := m.send(2)
	m.answer(of(adaptive.Hit), before[0])
	after := m.send(1)
	m.answer(of(adaptive.Hit), before[1])
	assert.Equal(t, 4, m.window())
	m.answer(of(adaptive.Hit), after[0])
	assert.Equal(t, 2, m.window())
}

func TestALateRefusalOnlyMovesTheGate(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	sent := m.send(2)
	m.after(rtt).answer(hitAfter(time.Second), sent[0])
	m.after(rtt).answer(hitAfter(time.Minute), sent[1])
	assert.Equal(t, 4, m.window())
	assertJittered(t, time.Minute, m.gate())
}

// int(1 * 1.2) is 1: a law that counts in integers never recovers from a small window.
func TestRecoveryNeverSticks(t *testing.T) {
	for from := 1; from <= 4; from++ {
		m := start(t, adaptive.AIMD{Initial: from})
		m.trip(10, rtt, of(adaptive.OK))
		assert.Equal(t, from+1, m.window())
		assert.Equal(t, int64(1), m.View().Recoveries)
	}
}

func TestRecoveryIsMultiplicativeAbove(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 10, Max: 100, RecoveryThreshold: 1})
	var windows []int
	for range 5 {
		m.trip(1, rtt, of(adaptive.OK))
		windows = append(windows, m.window())
	}
	// 12, 14.4, 17.28, 20.736, 24.8832: the fractions are kept
	assert.Equal(t, []int{12, 14, 17, 20, 24}, windows)
}

func TestCutsKeepFractions(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 19, Max: 20, Backoff: 0.9})
	var windows []int
	for range 4 {
		m.after(time.Minute).trip(1, rtt, of(adaptive.Hit))
		windows = append(windows, m.window())
	}
	assert.Equal(t, []int{17, 15, 13, 12}, windows, "17.1, 15.39, 13.851, 12.4659")
}

// A hundred successes of one round trip are one piece of news.
func TestGrowthIsOncePerRoundTrip(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 5, Max: 100, RecoveryThreshold: 2})
	m.trip(100, rtt, of(adaptive.OK))
	assert.Equal(t, 6, m.window())
	m.trip(100, rtt, of(adaptive.OK))
	assert.Equal(t, 7, m.window())
}

func TestSuccessesFromBeforeACutDoNotCount(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8, RecoveryThreshold: 2})
	old := m.send(4)
	m.after(rtt).answer(of(adaptive.Hit), old[0])
	m.after(rtt).answer(of(adaptive.OK), old[1:]...)
	assert.Equal(t, 4, m.window())
	m.trip(2, rtt, of(adaptive.OK))
	assert.Equal(t, 5, m.window())
}

func TestACutForgetsTheSuccessesBefore(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8, RecoveryThreshold: 3})
	m.trip(2, rtt, of(adaptive.OK))
	m.trip(1, rtt, of(adaptive.Hit))
	m.trip(2, rtt, of(adaptive.OK))
	assert.Equal(t, 4, m.window())
}

func TestMaxIsAHardCeilingAndMinTheFloor(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 9, Min: 3, Max: 10, Backoff: 0.01, RecoveryThreshold: 1, RecoveryFactor: 100})
	m.trip(1, rtt, of(adaptive.OK))
	m.trip(1, rtt, of(adaptive.OK))
	assert.Equal(t, 10, m.window())
	assert.Equal(t, int64(1), m.View().Recoveries, "at the ceiling there is nothing to recover")
	assert.Zero(t, m.admit(9))
	assert.Equal(t, throttle.Forever, m.admit(10))

	m.trip(1, rtt, of(adaptive.Hit))
	assert.Equal(t, 3, m.window())
	m.after(time.Hour)
	assert.Zero(t, m.admit(2))
	assert.Equal(t, throttle.Forever, m.admit(3))
}

// The largest int does not fit a float64; a window beyond it would wrap around and admit no call.
func TestAnUnboundedMaxStaysUsable(t *testing.T) {
	m := start(t, adaptive.AIMD{Max: math.MaxInt, RecoveryThreshold: 1, RecoveryFactor: 1e6})
	for range 10 {
		m.trip(1, rtt, of(adaptive.OK))
	}
	assert.Equal(t, 1<<30, m.window())
	assert.Zero(t, m.admit(1000))
}

func TestOverloadedCutsMildly(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 10})
	m.trip(10, rtt, of(adaptive.Overloaded))
	assert.Equal(t, 9, m.window(), "once for the burst")
	assertJittered(t, 500*time.Millisecond, m.gate())
	m.after(time.Minute).trip(1, rtt, adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: 7 * time.Second})
	assert.Equal(t, 8, m.window())
	assertJittered(t, 7*time.Second, m.gate())
	assert.Equal(t, int64(11), m.View().Hits)
	assert.Equal(t, int64(2), m.View().Cuts)
}

func TestVerdictsThatTeachNothing(t *testing.T) {
	for _, v := range []adaptive.Verdict{
		adaptive.Unclassified, adaptive.Transient, adaptive.Terminal, adaptive.Unsent, adaptive.Verdict(99),
	} {
		m := start(t, adaptive.AIMD{RecoveryThreshold: 2})
		m.trip(1, rtt, of(adaptive.OK))
		before := m.View()
		m.trip(5, rtt, adaptive.Feedback{Verdict: v, RetryAfter: time.Hour})
		assert.Equal(t, before, m.View(), "%s", v)
		m.trip(1, rtt, of(adaptive.OK))
		assert.Equal(t, 6, m.window(), "%s does not disturb a run of successes", v)
	}
}

// After a ramp too steep nothing grows for a quarter of an hour, and what was
// answered meanwhile does not count.
func TestSlowDownFreezesGrowth(t *testing.T) {
	steep := func(v adaptive.Verdict) adaptive.Feedback { return adaptive.Feedback{Verdict: v, SlowDown: true} }
	for _, tc := range []struct {
		name  string
		hit   adaptive.Feedback
		after time.Duration // from the refusal to the answers
		want  int           // of 8
	}{
		{"any other hit", of(adaptive.Hit), time.Minute, 5},
		{"a hit", steep(adaptive.Hit), time.Minute, 4},
		{"to the last moment", steep(adaptive.Hit), 15*time.Minute - 1, 4},
		{"and no longer", steep(adaptive.Hit), 15 * time.Minute, 5},
		{"overloaded", steep(adaptive.Overloaded), 15*time.Minute - 1, 7},
		{"overloaded, and no longer", steep(adaptive.Overloaded), 15 * time.Minute, 8},
		{"only of refusals", steep(adaptive.Transient), 0, 9},
	} {
		m := start(t, adaptive.AIMD{Initial: 8, RecoveryThreshold: 2})
		m.trip(1, rtt, tc.hit)
		sent := m.after(time.Nanosecond).send(2)
		m.after(tc.after-time.Nanosecond).answer(of(adaptive.OK), sent...)
		assert.Equal(t, tc.want, m.window(), tc.name)
	}
	m := start(t, adaptive.AIMD{Initial: 8, RecoveryThreshold: 2})
	late := m.send(2)
	m.after(rtt).answer(steep(adaptive.Hit), late[0])
	m.after(time.Minute).answer(steep(adaptive.Hit), late[1])
	m.after(15*time.Minute-1-rtt).trip(2, rtt, of(adaptive.OK))
	assert.Equal(t, 4, m.window(), "one that only moves the gate begins it anew")
	m.trip(1, 1, of(adaptive.OK))
	assert.Equal(t, 4, m.window(), "one success short")
	m.trip(1, 1, of(adaptive.OK))
	assert.Equal(t, 5, m.window())
}

func TestASignalCutsOncePerEpochAndLeavesTheGate(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 8})
	sent := m.now.Add(time.Second)
	hit := &adaptive.RateLimitHit{SentAt: sent, RetryAfter: time.Hour}
	m.after(2 * time.Second)
	for range 5 {
		m.OnSignal(m.now, hit)
	}
	assert.Equal(t, 4, m.window())
	assert.Equal(t, int64(1), m.View().Cuts)
	assert.Zero(t, m.View().Hits, "it was not its own call that was refused")
	assert.Zero(t, m.View().GateUntil)
	assert.Zero(t, m.admit(0))

	hit.SentAt = m.now // at the cut, not after it
	m.after(time.Second).OnSignal(m.now, hit)
	assert.Equal(t, 4, m.window())
	hit.SentAt = m.now
	m.after(time.Second).OnSignal(m.now, hit)
	assert.Equal(t, 2, m.window())
}

// The clock of a nested guard may be ahead. Such a signal is about a call from before the last cut, unless one was sent after it.
func TestASignalFromTheFutureCutsOncePerEpoch(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 16})
	hit := &adaptive.RateLimitHit{SentAt: m.now.Add(time.Hour)}
	for _, window := range []int{8, 4} {
		m.send(1)
		for range 5 {
			m.after(time.Second).OnSignal(m.now, hit)
			assert.Equal(t, window, m.window())
		}
	}
	m.send(1)
	m.after(time.Second).OnSignal(m.now, hit)
	m.send(1) // at the instant of the cut, and after it
	m.after(time.Second).OnSignal(m.now, hit)
	assert.Equal(t, 1, m.window())
}

// Signals cut the window only: the next refusal of its own is still the first.
func TestASignalDoesNotLengthenTheBackoff(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 16})
	for range 4 {
		m.after(time.Second).OnSignal(m.now.Add(time.Second), &adaptive.RateLimitHit{SentAt: m.now})
	}
	m.after(time.Minute).trip(1, rtt, of(adaptive.Hit))
	assertJittered(t, 500*time.Millisecond, m.gate())
}

func TestEqualSeedsGiveEqualGates(t *testing.T) {
	gates := map[time.Duration]bool{}
	for seed := range uint64(20) {
		a, b := startSeed(t, adaptive.AIMD{}, seed), startSeed(t, adaptive.AIMD{}, seed)
		a.trip(3, rtt, hitAfter(time.Minute))
		b.trip(3, rtt, hitAfter(time.Minute))
		assert.Equal(t, a.View(), b.View())
		gates[a.gate()] = true
	}
	assert.Greater(t, len(gates), 10, "different seeds spread the gates")
}

func TestALawIsSharedFreely(t *testing.T) {
	law := adaptive.AIMD{Initial: 8}
	a, b := start(t, law), start(t, law)
	a.trip(1, rtt, of(adaptive.Hit))
	assert.Equal(t, 4, a.window())
	assert.Equal(t, 8, b.window())
}

func TestBoundNamesWhatHoldsTheHeadBack(t *testing.T) {
	m := start(t, adaptive.AIMD{Initial: 4})
	bound := func() string { return m.View().Bound }
	m.trip(1, rtt, of(adaptive.OK))
	m.admit(0)
	assert.Empty(t, bound())
	m.admit(4)
	assert.Equal(t, "the learned concurrency", bound())
	m.Slack(m.now)
	assert.Empty(t, bound())
	m.trip(1, rtt, hitAfter(time.Minute))
	m.admit(0)
	assert.Equal(t, "the gate after a refusal", bound())
	m.after(m.gate())
	require.Zero(t, m.admit(0))
	assert.Empty(t, bound())
	m.send(1)
	m.admit(1)
	assert.Equal(t, "the gate that opens step by step", bound())
}

func TestVerdictsAndKindsHaveNames(t *testing.T) {
	for i, name := range []string{"unclassified", "ok", "hit", "overloaded", "transient", "terminal", "unsent", "Verdict(7)"} {
		assert.Equal(t, name, adaptive.Verdict(i).String())
	}
	for i, name := range []string{"unknown", "requests", "tokens", "concurrency", "overload", "Kind(5)"} {
		assert.Equal(t, name, adaptive.Kind(i).String())
	}
}
