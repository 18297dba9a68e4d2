// Package meter counts what was taken from windows: sliding, token bucket and
// calendar. It is pure. It has no clock and no lock: every method is given the
// time, which must not decrease. Package throttle and the stores of package
// quota share it, so that both enforce the same limits.
package meter
