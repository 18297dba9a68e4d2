package sqlitestore

import "time"

// defaultBusyTimeout is how long a call waits for other processes.
const defaultBusyTimeout = 10 * time.Second

// Option is an option of OpenJournal and OpenQuota.
type Option func(*settings)

type settings struct {
	busyTimeout time.Duration
}

// WithBusyTimeout sets how long a call waits for a process that has locked the file, before it fails
// with ErrLocked. The default is 10 seconds.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *settings) { s.busyTimeout = d }
}
