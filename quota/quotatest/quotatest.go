package quotatest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/quota"
)

// Subject is an empty store to be tested.
type Subject struct {
	Store quota.Store
	// Pass lets at least d elapse on the store's clock, such as time.Sleep.
	Pass func(d time.Duration)
	// Peer opens another handle on the same data. If it is set, everything is tested across two handles.
	Peer func() quota.Store
	// StepClock moves the store's clock by d, or back if d is negative. If nil, long history, calendar
	// days and clock steps are not tested.
	StepClock func(d time.Duration)
	// Epoch is the origin of Ticket.At, for the calendar of Fixed windows. The zero Time means the Unix
	// epoch.
	Epoch time.Time
	// Late is how much later than necessary a window of at most a second may admit a call, because instants are rounded: 0 for
	// an exact store. Every store may add per/1024 for a sliding window with a max above 1,024, and a microsecond for a bucket
	// with units that do not refill in whole nanoseconds. Too early is always wrong.
	Late time.Duration
	// Slots is the number of parts of a sliding window in the store, if it counts in parts: it may admit a
	// call late by one. 0 means 1,024, for a max above 1,024.
	Slots int64
	// Histories is how many random histories are played; 0 means 4.
	Histories int

	patience time.Duration // how long an announcement may be on its way
}

// Run tests the stores that open returns, a new one for each part. open closes it with t.Cleanup.
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
		{"Batches", testBatches},
		{"BatchArguments", testBatchArguments},
		{"Peek", testPeek},
		{"Settle", testSettle},
		{"Refunds", testRefunds},
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
		{"ForgottenLease", testForgottenLease},
		{"ForgottenLeaseWakes", testForgottenLeaseWakes},
		{"Waker", testWaker},
		{"EndedContext", testEndedContext},
		{"RaceWindows", testRaceWindows},
		{"RaceBatches", testRaceBatches},
		{"RaceEnds", testRaceEnds},
		{"RaceSlots", testRaceSlots},
		{"CancelStorm", testCancelStorm},
		{"ClockSteps", testClockSteps},
	}
}
