package learn

// evidence is how many observations speak for something, less those that speak against it: none, at least.
type evidence float64

func (e *evidence) note(speaksFor bool) {
	if speaksFor {
		*e++
	} else {
		*e = max(0, *e-1)
	}
}
