package providertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTokensAreReservedAndSettled(t *testing.T) {
	g := newGate(Limits{Tokens: Bucket{PerSecond: 1, Burst: 10}}, false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 8}))
	refusal, wait := g.judge(epoch, Tokens{Total: 6})
	require.Equal(t, refusedTokens, refusal)
	require.Equal(t, 4*time.Second, wait)
	require.Equal(t, refusedTokens, g.arrive(epoch, Tokens{Total: 6}))
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 2}), "a refusal takes nothing")

	g.settle(epoch, Tokens{Total: 8}, Tokens{Total: 3})
	require.Equal(t, quota{10, 5, 5 * time.Second}, g.pool[0].quota(), "five came back")
	g.settle(epoch, Tokens{Total: 2}, Tokens{Total: 9})
	require.Equal(t, quota{10, 0, 12 * time.Second}, g.pool[0].quota(), "two are owed")
	_, wait = g.judge(epoch, Tokens{Total: 1})
	require.Equal(t, 3*time.Second, wait)
	_, wait = g.judge(epoch, Tokens{})
	require.Equal(t, 2*time.Second, wait, "a debt keeps all out")

	g.settle(at(time.Hour), Tokens{Total: 5}, Tokens{})
	require.Equal(t, quota{10, 10, 0}, g.pool[0].quota(), "never more than full")
	g.settle(at(time.Hour), Tokens{}, Tokens{Total: 1 << 60})
	require.Equal(t, quota{10, 0, 10 * time.Second}, g.pool[0].quota(), "one call weighs a full bucket at most")
	g.settle(at(time.Hour), Tokens{}, Tokens{Total: 10})
	g.settle(at(time.Hour), Tokens{}, Tokens{Total: 10})
	require.Equal(t, quota{10, 0, 20 * time.Second}, g.pool[0].quota(), "and the debt is bounded")
}

func TestTokensAreCountedApart(t *testing.T) {
	bucket := func(burst int) Bucket { return Bucket{PerSecond: 1, Burst: burst} }
	g := newGate(Limits{InputTokens: bucket(10), OutputTokens: bucket(5)}, false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 1000, Input: 6, Output: 2}))
	for _, c := range []struct {
		cost Tokens
		want reason
		wait time.Duration
	}{
		{Tokens{Input: 4, Output: 3}, notRefused, 0},
		{Tokens{Input: 5}, refusedInputTokens, time.Second},
		{Tokens{Output: 5}, refusedOutputTokens, 2 * time.Second},
		{Tokens{Input: 7, Output: 5}, refusedInputTokens, 3 * time.Second},
		{Tokens{Input: 11}, refusedTooLarge, 0},
		{Tokens{Input: 11, Output: 6}, refusedTooLarge, 0},
	} {
		refusal, wait := g.judge(epoch, c.cost)
		require.Equal(t, c.want, refusal, "%+v", c.cost)
		require.Equal(t, c.wait, wait, "%+v", c.cost)
	}
}

func TestTokensTakeAllOrNothing(t *testing.T) {
	g := newGate(Limits{
		Rate:   Bucket{PerSecond: 1, Burst: 2},
		Tokens: Bucket{PerSecond: 1, Burst: 10},
	}, false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 9}))
	require.Equal(t, refusedTokens, g.arrive(epoch, Tokens{Total: 9}))
	require.Equal(t, 1, g.bucket.quota().remaining, "the refusal took no request")
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 1}))
	require.Equal(t, refusedRate, g.arrive(epoch, Tokens{}))
	require.Equal(t, 0, g.pool[0].quota().remaining)
}

func TestTokensSetLimits(t *testing.T) {
	per := func(max, burst int) Limits {
		return Limits{Tokens: Bucket{PerSecond: float64(max), Burst: burst}}
	}
	g := newGate(per(10, 10), false, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 4}))
	g.setLimits(per(10, 100), epoch)
	require.Equal(t, quota{100, 6, 9400 * time.Millisecond}, g.pool[0].quota(), "no gift of burst")
	g.settle(epoch, Tokens{Total: 4}, Tokens{Total: 15})
	g.setLimits(per(1, 10), at(50*time.Millisecond))
	require.Equal(t, quota{10, 0, 15 * time.Second}, g.pool[0].quota(), "a debt of four and a half becomes five")
	g.setLimits(Limits{}, epoch)
	require.Equal(t, notRefused, g.arrive(epoch, Tokens{Total: 1 << 60}))
	g.setLimits(per(10, 10), epoch)
	require.Equal(t, quota{10, 10, 0}, g.pool[0].quota(), "a new limit starts unspent")
}
