package oracle

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (a wide) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(a.lo))
}

// equal compares the values: a zero big.Int has more than one form.
func equal(t *rapid.T, want *big.Int, got wide) {
	require.Zero(t, want.Cmp(got.big()), "%s, not %s", got.big(), want)
}

func TestWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Int64Range(0, math.MaxInt64)
		a, b := part.Draw(t, "a"), part.Draw(t, "b")
		x := product(a, b)
		equal(t, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), x)
		y := product(part.Draw(t, "c"), part.Draw(t, "d"))
		equal(t, new(big.Int).Add(x.big(), y.big()), x.plus(y))
		equal(t, new(big.Int).Sub(x.big(), y.big()), x.minus(y))
		require.Equal(t, x.big().Cmp(y.big()) < 0, x.less(y))
		f, _ := new(big.Float).SetInt(x.big()).Float64()
		require.InEpsilon(t, 1+f, 1+x.float(), 1e-15)

		k := rapid.Int64Range(1, math.MaxInt64).Draw(t, "k")
		want := new(big.Int).Mul(x.big(), big.NewInt(k))
		got, ok := x.times(k)
		require.Equal(t, want.BitLen() < 128, ok)
		if ok {
			equal(t, want, got)
		}
	})
}

func TestVerdictIsASnapshot(t *testing.T) {
	log := []Entry{take(0, 2), take(1, 3), back(2, 0, 1), take(3, 4)}
	a := NewAuditor(Sliding(0, 1, sec))
	a.Add(log[0])
	v := a.Verdict()
	v.Violations = append(v.Violations[:0], Violation{})
	for _, e := range log[1:] {
		a.Add(e)
	}
	require.Equal(t, 1, v.Count())
	require.Equal(t, follow(log, Sliding(0, 1, sec)), a.Verdict())

	Settled(log)
	require.Equal(t, Weights{2}, log[0].Weights, "Settled changes nothing but what it returns")
}

func TestWideOverflow(t *testing.T) {
	most := product(math.MaxInt64, math.MaxInt64)
	_, ok := most.times(2)
	require.True(t, ok, "just below 2^127")
	for _, k := range []int64{3, 4, 5, 1 << 40, math.MaxInt64} {
		_, ok := most.times(k)
		require.False(t, ok, k)
	}
	_, ok = wide{math.MaxInt64, math.MaxUint64}.times(1)
	require.True(t, ok)
	_, ok = refill{math.MaxInt64, 1}.rescaled(2)
	require.False(t, ok)
}
