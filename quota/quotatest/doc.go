// Package quotatest holds the tests that every [quota.Store] has to pass.
//
// It keeps books of all requests and answers, and works out from them which
// answers are allowed at each step. What was admitted is judged once more at the
// end, by an oracle that shares no code with the stores.
//
// Time is the store's: its clock is read from a ticket before and after each
// step, and an answer only has to be right for some instant between the two. So
// no test depends on the speed of a machine, and a store whose clock stands
// still is judged to the nanosecond. A store with a real clock takes half a
// minute.
//
// A store that also is a [quota.Inspector] or a [quota.Waker] is tested for that too.
//
//	func TestStore(t *testing.T) {
//		quotatest.Run(t, func(t testing.TB) quotatest.Subject {
//			s := open(t)
//			return quotatest.Subject{Store: s, Pass: time.Sleep, Late: time.Millisecond}
//		})
//	}
package quotatest
