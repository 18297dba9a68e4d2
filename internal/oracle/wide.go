package oracle

import (
	"errors"
	"math"
	"math/bits"
	"time"
)

// wide is a signed whole number of 128 bits. Sums of products of two int64
// stay exact in it.
type wide struct {
	hi int64
	lo uint64
}

// product is a*b; neither is negative.
func product(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // not negative
	return wide{int64(hi), lo}                 //nolint:gosec // below 2^62
}

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return wide{a.hi + b.hi + int64(carry), lo} //nolint:gosec // 0 or 1
}

func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return wide{a.hi - b.hi - int64(borrow), lo} //nolint:gosec // 0 or 1
}

func (a wide) less(b wide) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// times is a*k if it fits; neither is negative.
func (a wide) times(k int64) (wide, bool) {
	over, high := bits.Mul64(uint64(a.hi), uint64(k)) //nolint:gosec // not negative
	carry, lo := bits.Mul64(a.lo, uint64(k))          //nolint:gosec // not negative
	high, c := bits.Add64(high, carry, 0)
	return wide{int64(high), lo}, over == 0 && c == 0 && high <= math.MaxInt64 //nolint:gosec // checked with it
}

// float is for reports; a is not negative.
func (a wide) float() float64 { return math.Ldexp(float64(a.hi), 64) + float64(a.lo) }

// refill is a bucket's rate in whole numbers: n parts come in each nanosecond,
// and d parts are one unit.
type refill struct{ n, d int64 }

func (r Rule) refill() refill {
	g := gcd(r.rate, int64(r.per))
	return refill{r.rate / g, int64(r.per) / g}
}

var errNoMeasure = errors.New("oracle: the rates that a bucket had have no common measure in 64 bits")

// rescaled expresses the rate in parts of which d are one unit, a multiple of f.d.
func (f refill) rescaled(d int64) (refill, bool) {
	p := product(f.n, d/f.d)
	return refill{int64(p.lo), d}, p.hi == 0 && p.lo <= math.MaxInt64 //nolint:gosec // checked with it
}

// in is what comes in d.
func (f refill) in(d time.Duration) wide { return product(f.n, int64(d)) }

// units is what n units are in parts.
func (f refill) units(n int64) wide { return product(n, f.d) }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lcm is the least common multiple of two positive numbers, if it fits.
func lcm(a, b int64) (int64, bool) {
	p := product(a/gcd(a, b), b)
	return int64(p.lo), p.hi == 0 && p.lo <= math.MaxInt64 //nolint:gosec // checked with it
}
