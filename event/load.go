package event

// Load is what an executor does at the moment, for those who look at it from
// time to time; its events tell what happens.
type Load struct {
	// Name is that of the executor.
	Name string
	// Pending, Queued, Processing and Calling are how many tasks are in these
	// states: they wait for room, wait in the queue, wait for limits or to go again, and are called.
	Pending, Queued, Processing, Calling int
	// Slots are in use of Concurrency, which is how many calls may be made at the same time.
	Slots, Concurrency int
	// Windows are those of the limits in force.
	Windows []WindowLeft
}

// WindowLeft is what is left of one window of a limiter.
type WindowLeft struct {
	// Window is its text, such as "500/min".
	Window string
	// Unit is what it counts, such as "requests" or "tokens".
	Unit string
	// Left is how many units would fit now; below 0 where calls have settled for more than they had reserved.
	Left int64
}
