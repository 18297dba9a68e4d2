// Package guardtest is the conformance suite of the doors to package guard:
// whatever makes a call, the same policy has the same effect. Each case is a
// policy and a script of calls in virtual time. It states what has to come out,
// and every door has to agree with guard.Guard on every call: how it ended,
// when, and at which instants it was sent.
//
//	func TestConformance(t *testing.T) { guardtest.Run(t, door) }
//
// What a door cannot have is in Door.Lacks with the reason, and its cases are
// skipped with that. TestEveryRuleIsTested lists the rules and where each is
// tested: by cases here, or in the package of the only door that can have it.
package guardtest
