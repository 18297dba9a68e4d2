// Package adaptive has the controllers that learn a provider's limits, and the
// detectors that distinguish a rate-limit response from other errors. Package guard
// uses both.
//
// A controller is a pure state machine that gets the time as an argument: Measured, the
// default, which measures what the provider allows; AIMD, the classic algorithm; or
// any other implementation of Law and State. docs/adaptive.md explains them.
package adaptive
