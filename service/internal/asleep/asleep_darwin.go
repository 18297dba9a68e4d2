package asleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// Total returns for how long the machine was suspended since it was started, to about a microsecond. It is 0 if the
// system does not report it.
func Total() time.Duration { return between(unix.CLOCK_UPTIME_RAW, unix.CLOCK_MONOTONIC_RAW) }
