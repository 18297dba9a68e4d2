package sqlitestore

import "time"

// DefaultBusyTimeout is how long a call waits for other processes. Theirs take milliseconds,
// unless one is stopped, or is no headrace.
const DefaultBusyTimeout = 10 * time.Second

// Option changes how a file is used.
type Option func(*settings)

type settings struct {
	busyTimeout time.Duration
}

// WithBusyTimeout is for how long a call waits for somebody else who has locked
// the file, before it fails with ErrLocked. Without it, or with 0, that is DefaultBusyTimeout.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *settings) { s.busyTimeout = d }
}
