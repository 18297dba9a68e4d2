package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/throttle"
)

// audited is a law that lets everything through, and has the oracle judge what the limits let through.
type audited struct {
	auditor *oracle.Auditor
	sent    *atomic.Int64
}

type auditing struct {
	audited
	begun time.Time
}

func (a audited) Start(now time.Time, _ uint64) (adaptive.State, error) {
	return &auditing{a, now}, nil
}

func (a *auditing) OnSend(now time.Time, s throttle.Sent) {
	e := oracle.Entry{At: now.Sub(a.begun)}
	for u := range throttle.Units {
		e.Weights[u] = s.Cost.Of(u)
	}
	a.auditor.Add(e)
	a.sent.Add(1)
}

func (*auditing) Admit(time.Time, throttle.Cost, int) time.Duration { return 0 }
func (*auditing) Slack(time.Time)                                   {}
func (*auditing) OnSignal(time.Time, *adaptive.RateLimitHit)        {}
func (*auditing) View() adaptive.View                               { return adaptive.View{} }
func (*auditing) OnResult(time.Time, throttle.Sent, int, adaptive.Feedback) {
}

// life counts what became of each task of one executor.
type counted struct {
	mu    sync.Mutex
	ended map[string]int
}

func (c *counted) Observe(e event.Event) {
	if e.Kind == event.TaskCompleted || e.Kind == event.TaskFailed || e.Kind == event.TaskCancelled {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended[e.Key]++
	}
}

// 100,000 submissions of 64 goroutines, with everything going on at once.
func TestNothingIsLost(t *testing.T) {
	const (
		submitters = 64
		workers    = 16
		requests   = 1500
		tokens     = 4000
		per        = 50 * time.Millisecond
	)
	submissions := int64(100_000)
	if testing.Short() {
		submissions = 10_000
	}
	base := runtime.NumGoroutine()
	var auditors []*oracle.Auditor
	var sent atomic.Int64 // as the limiters report it
	counts := &counted{ended: map[string]int{}}
	open := func() *Executor {
		auditor := oracle.NewAuditor(
			oracle.Sliding(int(throttle.Requests), requests, per), oracle.Sliding(int(throttle.Tokens), tokens, per))
		auditors = append(auditors, auditor)
		p := within(throttle.Sliding(requests, per), throttle.Sliding(tokens, per).Of(throttle.Tokens))
		p.Law, p.Observer = audited{auditor, &sent}, counts
		x, err := New(Config{Name: "x" + string(rune('a'+len(auditors))), Queue: 200, Concurrency: 8, Policy: p})
		require.NoError(t, err)
		return x
	}
	var current atomic.Pointer[Executor]
	current.Store(open())

	var inFlight, most, begun, handed, tasks atomic.Int64
	call := func(r uint64) func(context.Context) (uint64, error) {
		return func(ctx context.Context) (uint64, error) {
			n := inFlight.Add(1)
			defer inFlight.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			begun.Add(1)
			switch r % 64 {
			case 0:
				panic("boom")
			case 1:
				runtime.Goexit()
			case 2:
				return 0, errBoom
			case 3:
				<-time.After(time.Duration(r%1000) * time.Microsecond)
			case 4:
				runtime.Gosched()
			}
			return r, ctx.Err()
		}
	}
	var wg sync.WaitGroup
	for i := range submitters {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			var mine []*Task[uint64]
			var cancels []context.CancelFunc
			for handed.Add(1) <= submissions {
				r := rnd.Uint64()
				ctx, cancel := context.WithCancel(context.Background())
				submit := Submit[uint64]
				if r>>8%4 == 0 {
					submit = TrySubmit[uint64]
				}
				task, err := submit(ctx, current.Load(), call(r),
					WithCost(throttle.Cost{Tokens: int64(r >> 16 % 6)}), WithPriority(int(r>>24%3)))
				for errors.Is(err, ErrStopped) {
					runtime.Gosched()
					task, err = Submit(ctx, current.Load(), call(r))
				}
				if err != nil {
					assert.ErrorIs(t, err, ErrQueueFull)
					cancel()
					continue
				}
				tasks.Add(1)
				switch r >> 32 % 16 {
				case 0:
					task.Cancel()
				case 1:
					cancel()
				case 2:
					if got, err := task.Wait(ctx); err == nil {
						assert.Equal(t, r, got)
					}
				}
				mine = append(mine, task)
				cancels = append(cancels, cancel)
			}
			for _, task := range mine {
				_, _ = task.Wait(context.Background())
				assert.True(t, task.State().Terminal())
			}
			for _, cancel := range cancels {
				cancel()
			}
		})
	}
	stop, over := make(chan struct{}), make(chan struct{})
	go func() { // changes every setting
		defer close(over)
		rnd := rand.New(rand.NewPCG(2, 3))
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			x := current.Load()
			switch rnd.IntN(8) {
			case 0:
				assert.NoError(t, x.SetConcurrency(1+rnd.IntN(workers)))
			case 1:
				x.Pause()
				x.Resume()
			case 2:
				s := x.Stats()
				x.lock()
				queued := x.queue.len // Stats counts those that were just taken too
				x.unlock()
				assert.LessOrEqual(t, queued, 200)
				assert.LessOrEqual(t, s.Tasks[Processing]+s.Tasks[Calling], int64(workers))
			case 3:
				if i%100 == 0 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(20))*time.Millisecond)
					_ = x.Stop(ctx)
					cancel()
					current.Store(open())
				}
			}
			// The two of this test, and a timer's now and then. Workers that have left are counted until they have ended.
			goroutines := func() int { return runtime.NumGoroutine() - base - submitters - 1 }
			for end := time.Now().Add(time.Minute); goroutines() > workers+10 && time.Now().Before(end); {
				<-time.After(time.Millisecond)
			}
			assert.LessOrEqual(t, goroutines(), workers+10)
		}
	}()
	wg.Wait()
	close(stop)
	<-over
	require.NoError(t, current.Load().Stop(t.Context()))

	assert.LessOrEqual(t, most.Load(), int64(workers))
	assert.Len(t, counts.ended, int(tasks.Load()), "each that was taken in has ended")
	for id, n := range counts.ended {
		require.Equal(t, 1, n, "%s ended once", id)
	}
	assert.Equal(t, sent.Load(), begun.Load(), "no call passes the limiter by, and none is admitted and not made")
	for _, a := range auditors {
		v := a.Verdict()
		require.NoError(t, v.Err())
	}
	t.Logf("%d tasks of %d submissions, %d calls, at most %d at once, %d executors",
		tasks.Load(), submissions, begun.Load(), most.Load(), len(auditors))
}
