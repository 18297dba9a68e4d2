package sqlitestore_test

import (
	"flag"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
	"github.com/headrace/headrace/store/sqlitestore"
)

// hostClock is the clock of a host, which may be set.
type hostClock struct{ at atomic.Int64 }

func newHostClock() *hostClock {
	c := &hostClock{}
	c.at.Store(time.Date(2026, time.November, 23, 20, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *hostClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *hostClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// openQuota opens path under the clock; nil means that of this machine.
func openQuota(tb testing.TB, path string, clock *hostClock, options ...sqlitestore.Option) *sqlitestore.Quota {
	tb.Helper()
	now := time.Now
	if clock != nil {
		now = clock.now
	}
	q, err := sqlitestore.OpenQuotaAt(path, now, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := q.Close(); err != nil {
			tb.Error(err)
		}
	})
	return q
}

func TestQuota(t *testing.T) {
	for name, handles := range map[string]int{"one handle": 1, "two handles": 2} {
		t.Run(name, func(t *testing.T) {
			quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
				tb.Helper()
				path, clock := filepath.Join(tb.TempDir(), "quota.db"), newHostClock()
				s := quotatest.Subject{Store: openQuota(tb, path, clock), Pass: clock.advance, StepClock: clock.advance}
				if handles == 2 {
					s.Peer = func() quota.Store { return openQuota(tb, path, clock) }
				}
				return s
			})
		})
	}
}

// make verify sets it.
var realTime = flag.Bool("real-time", false, "run the suite of package quotatest by the clock of this machine too: a minute")

func TestQuotaInRealTime(t *testing.T) {
	if !*realTime {
		t.Skip("it takes a minute: set -real-time")
	}
	quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "quota.db")
		return quotatest.Subject{
			Store: openQuota(tb, path, nil), Pass: time.Sleep, Late: time.Millisecond,
			Peer: func() quota.Store { return openQuota(tb, path, nil) },
		}
	})
}
