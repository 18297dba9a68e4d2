package chart

import "math"

// scale maps values to places between two edges of a panel.
type scale struct {
	least, most float64 // values
	from, to    float64 // their places
	log         bool
}

// place is where v is. What is beyond an end is put there.
func (s *scale) place(v float64) float64 {
	least, most := s.least, s.most
	v = max(least, min(most, v))
	if s.log {
		v, least, most = math.Log10(v), math.Log10(least), math.Log10(most)
	}
	// The conversion forbids a fused operation, which some processors round otherwise.
	return s.from + float64((s.to-s.from)*(v-least)/(most-least))
}

// marks are round values on the scale, few enough to be read.
func (s *scale) marks() (all []float64) {
	if s.log {
		for v := 1.0; v <= s.most; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	d := pitch(s.most - s.least)
	for i := range fewMarks + 2 {
		if v := s.least + float64(d*float64(i)); v <= s.most {
			all = append(all, v)
		}
	}
	return all
}

const fewMarks = 5

// pitch is the distance of marks on a scale of this length: 1, 2 or 5 times a power of ten.
func pitch(length float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(length/fewMarks)))
	for _, times := range []float64{1, 2, 5} {
		if length <= fewMarks*times*power {
			return times * power
		}
	}
	return 10 * power
}
