package svg

import "math"

// Scale maps values to places between two edges of a drawing.
type Scale struct {
	Least, Most float64 // values
	From, To    float64 // their places
	Log         bool
}

// Place is where v is. A value beyond an end is put there.
func (s *Scale) Place(v float64) float64 {
	least, most := s.Least, s.Most
	v = max(least, min(most, v))
	if s.Log {
		v, least, most = math.Log10(v), math.Log10(least), math.Log10(most)
	}
	// The conversion forbids a fused operation, which some processors round differently.
	return s.From + float64((s.To-s.From)*float64((v-least)/(most-least)))
}

// Marks are round values on the scale, at most six of them if it is not
// logarithmic: multiples of 1, 2 or 5 times a power of ten.
func (s *Scale) Marks() (all []float64) {
	if s.Log {
		for v := 1.0; v <= s.Most; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	const few = 5
	d := Ceil((s.Most-s.Least)/few, 1, 2, 5)
	for i := range few + 2 {
		if v := math.Round((s.Least+float64(d*float64(i)))*1e6) / 1e6; v <= s.Most {
			all = append(all, v)
		}
	}
	return all
}

// Ceil is the least number not below v that is one of these, in ascending order
// from 1 on, times a power of ten.
func Ceil(v float64, round ...float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range round {
		if v <= times*power {
			return times * power
		}
	}
	return 10 * power
}
