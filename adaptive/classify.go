package adaptive

// Classify judges err with d, unless nil, and then with DefaultDetector. A
// detector that panics does not know the error. A hit that was given up, and
// a quota that was found used up, are not judged again.
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
