package redisstore_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

// patience is how long Redis may take, which a busy machine holds up.
const patience = time.Minute

// open returns a handle of its own on the server.
func open(tb testing.TB, s *redistest.Server, options ...redisstore.Option) *redisstore.Store {
	tb.Helper()
	store, err := redisstore.Open(s.URL(), append([]redisstore.Option{redisstore.WithTimeout(patience)}, options...)...)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// A clock that stands still: every answer is judged to the microsecond, across two handles.
func TestStore(t *testing.T) { testStore(t, open, 20) }

// The other handle is one of go-redis.
func TestStoreOfRueidis(t *testing.T) { testStore(t, openRueidis, 1) }

func testStore(t *testing.T, opened func(testing.TB, *redistest.Server, ...redisstore.Option) *redisstore.Store, histories int) {
	t.Helper()
	server := redistest.Start(t)
	quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
		tb.Helper()
		clock := clockwork.NewFakeClockAt(time.Now())
		own := []redisstore.Option{redisstore.WithPrefix(tb.Name() + ":"), redisstore.WithClock(clock)}
		return quotatest.Subject{
			Store:     opened(tb, server, own...),
			Peer:      func() quota.Store { return open(tb, server, own...) },
			Pass:      clock.Advance,
			StepClock: clock.Advance,
			Late:      2 * time.Microsecond,
			Slots:     64,
			Histories: histories,
		}
	})
}
