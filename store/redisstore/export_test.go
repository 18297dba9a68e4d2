package redisstore

import (
	"strconv"

	"github.com/jonboulle/clockwork"
)

// WithClock has the store count by a clock of the test, not by that of Redis.
func WithClock(c clockwork.Clock) Option {
	return func(s *Store) {
		s.clock = func() string { return strconv.FormatInt(c.Now().UnixMicro(), 10) }
	}
}

// Names returns the names in Redis of a key's value and of its slots.
func (s *Store) Names(key string) []string { return names(nil, s.tag(key), key) }
