package sqlitestore

import "time"

// DefaultBusyTimeout is how long a call waits for other processes. Their writes take milliseconds,
// unless one is suspended, or is another program.
const DefaultBusyTimeout = 10 * time.Second

// Option changes how a file is used.
type Option func(*settings)

type settings struct {
	busyTimeout time.Duration
}

// WithBusyTimeout sets how long a call waits for another process that has locked
// the file, before it fails with ErrLocked. Without it, or with 0, that is DefaultBusyTimeout.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *settings) { s.busyTimeout = d }
}
