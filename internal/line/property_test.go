package line_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// visit is a call of a program.
type visit struct {
	at, takes, leaves time.Duration // leaves: 0: never
	client            string
	priority          line.Priority
	weight            float64
	rejected          bool // at first
}

// scene is a guard and what comes to it.
type scene struct {
	slots    int
	shared   bool // through a store
	joined   bool // within another guard
	maxQueue int
	maxWait  time.Duration
	visits   []visit
}

func drawScene(t *rapid.T) scene {
	ms := func(name string, values ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(values).Draw(t, name)) * time.Millisecond
	}
	s := scene{
		slots: rapid.IntRange(1, 3).Draw(t, "slots"), shared: rapid.IntRange(0, 3).Draw(t, "shared") == 0,
		joined:   rapid.IntRange(0, 3).Draw(t, "joined") == 0,
		maxQueue: rapid.SampledFrom([]int{0, 3}).Draw(t, "maxQueue"), maxWait: ms("maxWait", 0, 0, 7),
	}
	for range rapid.IntRange(1, 60).Draw(t, "visits") {
		s.visits = append(s.visits, visit{
			at: ms("at", 0, 0, 1, 2, 3, 5, 8, 13, 21), takes: ms("takes", 0, 1, 1, 2, 5), leaves: ms("leaves", 0, 0, 0, 1, 2, 9),
			client:   rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "client"),
			priority: line.Priority(rapid.IntRange(0, 1).Draw(t, "priority")),
			weight:   rapid.SampledFrom([]float64{0, 1, 4}).Draw(t, "weight"), rejected: rapid.IntRange(0, 9).Draw(t, "rejected") == 0,
		})
	}
	return s
}

// play plays s and returns what went wrong.
func (s scene) play(t *testing.T) (problems []string) {
	t.Helper()
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	policy := guard.Policy{Limits: throttle.Limits{Concurrency: s.slots}}
	if s.shared {
		policy.Store = quota.NewMemoryStore(nil)
	}
	if s.joined {
		policy.Within = []*guard.Guard{made(t, guard.Policy{Name: "host", Limits: throttle.Limits{Concurrency: 3}})}
	}
	g := made(t, policy)
	lines := line.New(line.Config{MaxQueue: s.maxQueue, MaxWait: s.maxWait})
	var mu sync.Mutex
	running, ran := 0, int64(0)
	var wg sync.WaitGroup
	for _, v := range s.visits {
		wg.Go(func() {
			time.Sleep(v.at)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if v.leaves > 0 {
				defer time.AfterFunc(v.leaves, cancel).Stop()
			}
			ctx, ticket := lines.With(ctx, line.Caller{Client: v.client, Weight: v.weight, Priority: v.priority})
			attempts := 0
			err := g.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				mu.Lock()
				ran++
				attempts++
				if running++; running > s.slots {
					problem("%d run", running)
				}
				mu.Unlock()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					running--
				}()
				time.Sleep(v.takes)
				if v.rejected && attempts == 1 {
					return &adaptive.RateLimitHit{RetryAfter: 3 * time.Millisecond}
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			if ticket.Attempts() != attempts {
				problem("%d attempts, and the ticket has %d", attempts, ticket.Attempts())
			}
			full, late := errors.As(err, new(*line.FullError)), errors.As(err, new(*line.WaitError))
			switch {
			case err == nil && attempts > 0, errors.Is(err, context.Canceled) && v.leaves > 0, full && s.maxQueue > 0, late && s.maxWait > 0:
			default:
				problem("after %d attempts: %v", attempts, err)
			}
			if attempts > 0 && (full || late && !v.rejected) {
				problem("sent, and then %v", err)
			}
			if s.maxWait > 0 && ticket.Waited() > s.maxWait {
				problem("waited for %s", ticket.Waited())
			}
		})
	}
	for range 100 {
		time.Sleep(time.Millisecond)
		synctest.Wait()
		st, waiting := g.Stats(), 0
		for _, n := range lines.Stats() {
			waiting += n.Waiting
		}
		if waiting > 0 && st.InFlight < s.slots && st.Waiting == 0 {
			problem("%d wait in line, none at the guard, and %d of %d slots are in use", waiting, st.InFlight, s.slots)
		}
	}
	time.Sleep(10 * time.Minute)
	wg.Wait()
	admitted := int64(0)
	for _, n := range lines.Stats() {
		if n.Waiting != 0 {
			problem("%d are left in the line", n.Waiting)
		}
		for _, c := range n.Clients {
			admitted += c.Admitted
		}
	}
	rejected := int64(0)
	for _, v := range s.visits {
		if v.rejected {
			rejected++
		}
	}
	if admitted > ran || admitted < ran-rejected {
		problem("%d were admitted of %d that ran", admitted, ran)
	}
	if st := g.Stats(); st.InFlight != 0 || st.Waiting != 0 {
		problem("%d are left in flight and %d waiting", st.InFlight, st.Waiting)
	}
	return problems
}

// Whatever comes and goes at whichever instants, no permit and no turn is lost.
func TestScenesLoseNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScene(rt)
		var problems []string
		synctest.Test(t, func(t *testing.T) { problems = s.play(t) })
		if len(problems) > 0 {
			rt.Fatalf("%d problems, such as %s", len(problems), problems[0])
		}
	})
}
