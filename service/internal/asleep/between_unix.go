//go:build darwin || linux

package asleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// between returns how far a clock that goes on is ahead of one that stands still while the machine is suspended.
func between(stands, goes int32) time.Duration {
	var from, to unix.Timespec
	if unix.ClockGettime(stands, &from) != nil || unix.ClockGettime(goes, &to) != nil {
		return 0
	}
	return time.Duration(to.Nano() - from.Nano())
}
