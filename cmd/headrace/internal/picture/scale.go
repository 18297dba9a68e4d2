package picture

import "math"

// scale maps values to places.
type scale struct {
	most     float64 // the least is 0
	from, to float64 // their places
}

// place is where v is. What is beyond an end is put there.
func (s *scale) place(v float64) float64 {
	// The conversion forbids a fused operation, which some processors round otherwise.
	return s.from + float64((s.to-s.from)*(max(0, min(s.most, v))/s.most))
}

// marks are round values on the scale: 5 of them or so.
func (s *scale) marks() (all []float64) {
	power := math.Pow(10, math.Floor(math.Log10(s.most/5)))
	pitch := 10 * power
	for _, by := range []float64{5, 2, 1} {
		if s.most <= 5*by*power {
			pitch = by * power
		}
	}
	for i := 0; float64(i)*pitch <= s.most; i++ {
		all = append(all, math.Round(float64(i)*pitch*1000)/1000)
	}
	return all
}
