package providertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGateTakesAllOrNothing(t *testing.T) {
	g := newGate(Limits{
		Concurrency: 1,
		Rate:        Bucket{PerSecond: 10, Burst: 5},
		Window:      FixedWindow{Max: 3, Per: time.Minute},
	}, false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	for range 10 {
		require.Equal(t, refusedConcurrency, g.arrive(epoch, Tokens{}))
	}
	g.leave()
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	g.leave()
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	for range 10 {
		require.Equal(t, refusedWindow, g.arrive(epoch, Tokens{}), "which also has no slot, but a longer wait")
	}
	require.Equal(t, 1, g.inFlight)
	require.Equal(t, quota{5, 2, 300 * time.Millisecond}, g.bucket.quota(), "three were taken")
}

func TestGateNamesTheLongestWait(t *testing.T) {
	limits := Limits{Rate: Bucket{PerSecond: 0.1, Burst: 1}, Window: FixedWindow{Max: 1, Per: time.Minute}}
	g := newGate(limits, false, epoch)
	require.Equal(t, notRefused, g.arrive(at(55*time.Second), Tokens{}))
	refusal, wait := g.judge(at(55*time.Second), Tokens{})
	require.Equal(t, refusedRate, refusal)
	require.Equal(t, 10*time.Second, wait)

	g = newGate(limits, false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	refusal, wait = g.judge(epoch, Tokens{})
	require.Equal(t, refusedWindow, refusal)
	require.Equal(t, time.Minute, wait)
}

func TestGateRefusalsCount(t *testing.T) {
	hammer := func(refusalsCount bool) (admitted int) {
		g := newGate(Limits{Rate: Bucket{PerSecond: 1, Burst: 1}}, refusalsCount, epoch)
		for i := range 100 {
			if g.arrive(at(time.Duration(i)*100*time.Millisecond), Tokens{}) == notRefused {
				admitted++
			}
		}
		return admitted
	}
	require.Equal(t, 10, hammer(false))
	require.Equal(t, 1, hammer(true), "who hammers is kept out")

	g := newGate(Limits{Concurrency: 1, Window: FixedWindow{Max: 3, Per: time.Second}}, true, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	require.Equal(t, refusedConcurrency, g.arrive(epoch, Tokens{}))
	require.Equal(t, refusedConcurrency, g.arrive(epoch, Tokens{}))
	require.Equal(t, refusedWindow, g.arrive(epoch, Tokens{}), "the window counted the refusals too")
}

func TestGateQuotaIsTheTighter(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		want   quota
		ok     bool
	}{
		{"none", Limits{Concurrency: 4}, quota{}, false},
		{"rate", Limits{Rate: Bucket{PerSecond: 1, Burst: 4}}, quota{4, 3, time.Second}, true},
		{"window", Limits{Window: FixedWindow{Max: 4, Per: time.Minute}}, quota{4, 3, time.Minute}, true},
		{
			"fewest remaining",
			Limits{Rate: Bucket{PerSecond: 1, Burst: 4}, Window: FixedWindow{Max: 9, Per: time.Minute}},
			quota{4, 3, time.Second},
			true,
		},
		{
			"as many, but longer",
			Limits{Rate: Bucket{PerSecond: 1, Burst: 4}, Window: FixedWindow{Max: 4, Per: time.Minute}},
			quota{4, 3, time.Minute},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(c.limits, false, epoch)
			require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
			got, ok := g.quota(epoch)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.want, got)
		})
	}
}

func TestGateSetLimits(t *testing.T) {
	g := newGate(Limits{}, false, epoch)
	for range 5 {
		require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))
	}
	g.setLimits(Limits{Concurrency: 4}, epoch)
	require.Equal(t, refusedConcurrency, g.arrive(epoch, Tokens{}), "the five are still in flight")
	g.leave()
	g.leave()
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{}))

	g.setLimits(Limits{Window: FixedWindow{Max: 1, Per: time.Minute}}, at(90*time.Second))
	require.Equal(t, notRefused, g.arrive(at(90*time.Second), Tokens{}), "a new limit starts unspent")
	_, wait := g.judge(at(90*time.Second), Tokens{})
	require.Equal(t, 30*time.Second, wait, "and aligned to the server's start")

	g.setLimits(Limits{Rate: Bucket{PerSecond: 1, Burst: 1}}, at(90*time.Second))
	require.Equal(t, notRefused, g.arrive(at(90*time.Second), Tokens{}), "the window is gone")
	require.Equal(t, refusedRate, g.arrive(at(90*time.Second), Tokens{}))
	g.setLimits(Limits{Rate: Bucket{PerSecond: 4, Burst: 4}}, at(90500*time.Millisecond))
	_, wait = g.judge(at(90500*time.Millisecond), Tokens{})
	require.Equal(t, 125*time.Millisecond, wait, "half a request was there")
}
