package client

import "time"

const (
	// WarmUp is what a run begins with: the cold start, which is counted apart.
	WarmUp = 2 * time.Minute
	// Measured is how long it is measured after that, unless its setting says otherwise.
	Measured = 20 * time.Minute
)

// Tally counts attempts, by when they were sent.
type Tally struct {
	Attempts int
	Admitted int
	Refused  int
	Unlucky  int // of Refused, for no reason of theirs
}

// Result is what one process got in one run.
type Result struct {
	Cold     Tally // sent during WarmUp
	Measured Tally
	Drawn    int           // items that the process began with
	Done     int           // items that were answered
	Left     int           // items in line, kept, or on the wire at the end
	Took     time.Duration // until the last of Setting.Items was answered, or the end of the run

	Silence time.Duration // the longest in which no call was admitted although there was demand
}

// window is the part of the run that an attempt counts in.
type window uint8

const (
	cold window = iota
	measured
)

func windowOf(now time.Duration) window {
	if now < WarmUp {
		return cold
	}
	return measured
}

func (r *Result) of(w window) *Tally {
	if w == cold {
		return &r.Cold
	}
	return &r.Measured
}
