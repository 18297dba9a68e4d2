package sqlitestore

import "time"

// DefaultBusyTimeout is how long a call waits for other processes.
const DefaultBusyTimeout = 10 * time.Second

// Option is an option of OpenJournal.
type Option func(*settings)

type settings struct {
	busyTimeout time.Duration
}

// WithBusyTimeout sets how long a call waits for a process that has locked the file, before it fails
// with ErrLocked. 0 means DefaultBusyTimeout.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *settings) { s.busyTimeout = d }
}
