package quotatest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/quota"
)

// Subject is a store to be tested, with nothing in it.
type Subject struct {
	Store quota.Store
	// Pass lets at least d go by on the store's clock: time.Sleep for a store
	// with a clock of its own.
	Pass func(d time.Duration)
	// Peer opens another handle on the same data, as another process would; nil
	// if there is none. Everything is then tested across two handles.
	Peer func() quota.Store
	// StepClock sets the store's clock forward by d, or back if d is negative;
	// nil if it cannot be set. What needs it is skipped then: history of more
	// than some seconds, days on which clocks change, and clocks that step.
	StepClock func(d time.Duration)
	// Epoch is the moment that Ticket.At counts from, by which the calendar of
	// Fixed windows is judged. The zero Time means the Unix epoch.
	Epoch time.Time
	// Late is by how much a window of at most a second may let a call go later
	// than it has to, because instants are rounded: 0 for an exact store. That
	// is besides what every store may: per/1024 for a sliding window with a max
	// above 1,024, and a microsecond for a bucket whose units do not refill in a
	// whole number of nanoseconds. Too early is always wrong.
	Late time.Duration
	// Slots is in how many parts the store divides a sliding window, if it counts
	// in parts: it may let a call go late by one of them. 0 means the 1,024 that
	// every store may use for a max above 1,024.
	Slots int64
	// Histories is how many random histories are played; 0 means 4.
	Histories int

	patience time.Duration // how long an announcement may be on its way
}

// Run tests the stores that open returns, a new one for each part, which open
// closes with t.Cleanup. Windows and leases are short, so that a store with a
// real clock takes some seconds.
func Run(t *testing.T, open func(tb testing.TB) Subject) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.play(t, open(t)) })
	}
}

// testCase is one part of the suite.
type testCase struct {
	name string
	run  func(w *watch)
}

// play runs the case; tb may be a recorder.
func (c testCase) play(tb testing.TB, s Subject) {
	tb.Helper()
	w := newWatch(tb, s)
	c.run(w)
	w.close()
}

func cases() []testCase {
	return []testCase{
		{"Arguments", testArguments},
		{"Unlimited", testUnlimited},
		{"Windows", testWindows},
		{"Histories", testHistories},
		{"LargeAmounts", testLargeAmounts},
		{"LargeWindows", testLargeWindows},
		{"Rates", testRates},
		{"Anchors", testAnchors},
		{"Daylight", testDaylight},
		{"LongHistory", testLongHistory},
		{"Atomicity", testAtomicity},
		{"Peek", testPeek},
		{"Settle", testSettle},
		{"Uses", testUses},
		{"LimitsChange", testLimitsChange},
		{"PeriodsChange", testPeriodsChange},
		{"Forgotten", testForgotten},
		{"WindowsChange", testWindowsChange},
		{"Cooldown", testCooldown},
		{"ManyKeys", testManyKeys},
		{"Slots", testSlots},
		{"Lapse", testLapse},
		{"Renew", testRenew},
		{"Fencing", testFencing},
		{"HandOver", testHandOver},
		{"EndOnce", testEndOnce},
		{"Inspector", testInspector},
		{"Waker", testWaker},
		{"EndedContext", testEndedContext},
		{"RaceWindows", testRaceWindows},
		{"RaceEnds", testRaceEnds},
		{"RaceSlots", testRaceSlots},
		{"CancelStorm", testCancelStorm},
		{"ClockSteps", testClockSteps},
	}
}
