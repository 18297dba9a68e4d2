package line_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// Calls of all kinds come and go at the same time on real processors.
func TestACrowdLeavesNothingBehind(t *testing.T) {
	for name, p := range map[string]guard.Policy{
		"slots":  {Limits: throttle.Limits{Concurrency: 2}},
		"shared": {Limits: throttle.Limits{Concurrency: 2}, Store: quota.NewMemoryStore(nil)},
		"joined": {Limits: throttle.Limits{Concurrency: 3}, Within: []*guard.Guard{made(t, guard.Policy{Name: "host", Limits: throttle.Limits{Concurrency: 2}})}},
	} {
		g := made(t, guard.Policy{Name: name, Limits: p.Limits, Store: p.Store, Within: p.Within})
		lines := line.New(line.Config{})
		var wg sync.WaitGroup
		var running, ran atomic.Int64
		for i := range 64 {
			wg.Go(func() {
				for n := range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					if n%4 == 0 {
						time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, cancel)
					}
					ctx, _ = lines.With(ctx, line.Caller{Client: strconv.Itoa(i % 5), Priority: line.Priority(rand.IntN(2))})
					err := g.Do(ctx, throttle.Cost{}, func(context.Context) error {
						assert.LessOrEqual(t, running.Add(1), int64(2), name)
						defer running.Add(-1)
						ran.Add(1)
						runtime.Gosched()
						return nil
					})
					if n%4 != 0 {
						assert.NoError(t, err, name)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		s, admitted := lines.Stats()[0], int64(0)
		for _, c := range s.Clients {
			admitted += c.Admitted
		}
		assert.Zero(t, s.Waiting, name)
		assert.Equal(t, ran.Load(), admitted, name)
		assert.Zero(t, g.Stats().InFlight, name)
	}
}
