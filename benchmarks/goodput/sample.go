package goodput

import (
	"fmt"
	"math"
)

// sample is the mean of a figure over the seeds and half its 95 % interval,
// which a single seed does not have.
type sample struct {
	mean, half float64
	n          int
}

// sampleOf uses Student's distribution: there are few seeds.
func sampleOf(xs []float64) sample {
	n := float64(len(xs))
	if n == 0 {
		return sample{}
	}
	s := sample{n: len(xs)}
	for _, x := range xs {
		s.mean += x / n
	}
	if s.n == 1 {
		return s
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - s.mean) * (x - s.mean)
	}
	s.half = student(s.n-1) * math.Sqrt(squares/(n-1)/n)
	return s
}

// student is the 97.5 % quantile of Student's distribution.
func student(degrees int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	return 1.96 + 2.4/float64(degrees) // within 0.001 from there on
}

// String is the mean and half the interval: "97.3 ± 0.4".
func (s sample) String() string {
	switch s.n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.1f", s.mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", s.mean, s.half)
}

// closeEnough is how many points of goodput may lie between a run and the simulator.
const closeEnough = 3

// agreement says whether the simulator's goodput is that of the real runs, and
// what makes it so. ok is false only when it is not.
func agreement(ours, simulated sample) (verdict string, ok bool) {
	if ours.n == 0 || simulated.n == 0 {
		return "", true
	}
	difference := simulated.mean - ours.mean
	switch {
	case math.Abs(difference) <= closeEnough:
		return fmt.Sprintf("yes, %+.1f", difference), true
	case math.Abs(difference) <= ours.half:
		return fmt.Sprintf("yes, %+.1f, in the interval", difference), true
	}
	return fmt.Sprintf("**no, %+.1f**", difference), false
}
