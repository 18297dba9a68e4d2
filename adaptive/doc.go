// Package adaptive holds what learns a provider's limits: control laws, and the
// detectors that tell a rate-limit response from any other error. Package guard
// puts them to work.
//
// Laws are pure machines that get the time as an argument: Measured, the
// default, which finds what the provider allows; AIMD, the classic; and
// anything that implements Law and State. docs/adaptive.md shows them at work.
package adaptive
