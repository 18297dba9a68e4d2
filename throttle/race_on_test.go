//go:build race

package throttle

// RaceDetector is for the tests of both packages.
const RaceDetector = true
