// Package guardtest is the conformance suite of the doors to package guard:
// whatever makes a call, the same policy has the same effect. Each case is a
// policy and a script of calls in virtual time. It states what has to come out,
// and every door has to agree with guard.Guard on every call: how it ended,
// when, and at which instants it was sent.
//
//	func TestConformance(t *testing.T) { guardtest.Run(t, door) }
//
// Door.Lacks lists what a door cannot have, each with the reason, and those
// cases are skipped. The table of TestEveryRuleIsTested lists the rules and where
// each is tested: by cases here, or in the package of the only door that can have it.
package guardtest
