package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/quota"
)

// WithClock has the store count by a clock of the test, not by that of Redis.
func WithClock(c clockwork.Clock) Option {
	return func(s *Store) {
		s.clock = func() string { return strconv.FormatInt(c.Now().UnixMicro(), 10) }
	}
}

// Names returns the names in Redis of a key's value and of its slots.
func (s *Store) Names(key string) []string { return names(nil, s.tag(key), key) }

// TakeTogether is n equal Takes that share a script.
func (s *Store) TakeTogether(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	return s.takeSome(ctx, newShape(s, &query{Request: r}), n, nil)
}

// Timeouts are those of the client that Open has made.
func (s *Store) Timeouts() (dial, read time.Duration) {
	c, _ := s.client.(goRedis).UniversalClient.(*redis.Client)
	return c.Options().DialTimeout, c.Options().ReadTimeout
}

// Lost is how many takes without an answer may hold slots, and -1 while they are being looked at.
func Lost(s *Store) int {
	r := &s.reclaims
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working && len(r.lost) == 0 {
		return -1
	}
	return len(r.lost)
}

// LoseWhileLooking has takes lost, and as many again while these are being looked at without success. It returns how many
// may be remembered, and how many are.
func LoseWhileLooking() (most, remembered int) {
	r := &reclaims{working: true}
	lose := func() {
		for range mostLost {
			r.add(nil, lostTake{lapses: time.Now().Add(time.Hour)})
		}
	}
	lose()
	list := r.next()
	lose()
	r.retry(list)
	return mostLost, len(r.lost)
}
