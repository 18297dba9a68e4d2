// Package quotatest has the tests that every quota.Store must pass, and those of
// its quota.Batcher, quota.Inspector and quota.Waker.
//
// It derives from all requests and answers which answers are allowed at each step.
// An oracle that shares no code with the stores checks the admissions once more.
//
// Time is the store's: its clock is read from a ticket before and after each step,
// and an answer must be right for some instant between the two. A store with a real
// clock takes half a minute.
//
//	func TestStore(t *testing.T) {
//		quotatest.Run(t, func(t testing.TB) quotatest.Subject {
//			s := open(t)
//			return quotatest.Subject{Store: s, Pass: time.Sleep, Late: time.Millisecond}
//		})
//	}
package quotatest
