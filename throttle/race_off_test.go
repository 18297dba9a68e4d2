//go:build !race

package throttle_test

const raceDetector = false
