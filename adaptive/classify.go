package adaptive

// Classify judges err by d, if not nil, and then by DefaultDetector. A detector
// that panics is skipped.
func Classify(d Detector, err error) Feedback {
	if err == nil {
		return Feedback{Verdict: OK}
	}
	if decided(err) {
		return Feedback{Err: err}
	}
	f := Feedback{}
	if d != nil {
		f = ask(d, err)
	}
	if f.Verdict == Unclassified {
		f = DefaultDetector(err)
	}
	if f.Err == nil {
		f.Err = err
	}
	return f
}

func ask(d Detector, err error) (f Feedback) {
	defer survive()
	return d(err)
}
