// Package quotatest is the suite that every [quota.Store] has to pass.
//
// It keeps its own books of what it asked a store for and was told, and knows
// at each step what a store may answer. What was admitted is judged once more
// at the end, by the oracle that all of headrace is judged by.
//
// Time is the store's: its clock is read off a ticket before and after each
// step, and only what holds for every instant between the two is demanded. So
// nothing here depends on how fast a machine is, and a store whose clock the
// test holds still is judged to the nanosecond.
//
//	func TestStore(t *testing.T) {
//		quotatest.Run(t, func(t testing.TB) quotatest.Subject {
//			s := open(t)
//			return quotatest.Subject{Store: s, Pass: time.Sleep, Late: time.Millisecond}
//		})
//	}
package quotatest
