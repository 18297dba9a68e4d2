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

// Add adds o to t.
func (t *Tally) Add(o Tally) {
	t.Attempts += o.Attempts
	t.Admitted += o.Admitted
	t.Refused += o.Refused
	t.Unlucky += o.Unlucky
}

// Result is what one process got in one run.
type Result struct {
	First    Tally // of Cold, sent in the first minute
	Cold     Tally // sent during WarmUp
	Measured Tally
	Drawn    int           // items that the process began with
	Done     int           // items that were answered
	Left     int           // items in line, kept, or on the wire at the end
	Waiting  float64       // seconds from the arrival of an item in a burst to its answer or the end, of all items together; time before measuring does not count
	Took     time.Duration // until the last of Setting.Items was answered, or the end of the run

	Silence time.Duration // the longest in which no call was admitted although there was demand
}

// count counts what came of a call by when it was sent.
func (p *process) count(sent time.Duration, t Tally) {
	if sent >= p.run.begins() {
		p.got.Measured.Add(t)
	}
	if sent < WarmUp {
		p.got.Cold.Add(t)
	}
	if sent < time.Minute {
		p.got.First.Add(t)
	}
}

// countWaiting counts the items that wait for their answer until now.
func (p *process) countWaiting(now time.Duration) {
	p.got.Waiting += p.waiting(now)
	p.counted = now
}

// waiting is what countWaiting adds. All processes have joined, and thus had their first burst, before measuring begins.
func (p *process) waiting(now time.Duration) float64 {
	from := max(p.counted, p.run.begins())
	return float64(max(0, p.come-p.got.Done)) * max(0, now-from).Seconds()
}
