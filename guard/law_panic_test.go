package guard_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// breaking is a law with two slots that panics in one method while armed.
type breaking struct{ in *string }

func (l breaking) Start(now time.Time, seed uint64) (adaptive.State, error) {
	s, err := adaptive.AIMD{Initial: 2, Max: 2}.Start(now, seed)
	return breakingState{s, l.in}, err
}

type breakingState struct {
	adaptive.State

	in *string
}

func (s breakingState) at(method string) {
	if *s.in == method {
		panic(method)
	}
}

func (s breakingState) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	s.at("Admit")
	if s.State.Admit(now, c, inFlight) > 0 {
		return time.Second // so that the limiter's timer asks again
	}
	return 0
}

func (s breakingState) Slack(now time.Time) { s.at("Slack"); s.State.Slack(now) }

func (s breakingState) OnSend(now time.Time, sent throttle.Sent) {
	s.at("OnSend")
	s.State.OnSend(now, sent)
}

func (s breakingState) OnResult(now time.Time, sent throttle.Sent, n int, f adaptive.Feedback) {
	s.at("On" + f.Verdict.String())
	s.State.OnResult(now, sent, n, f)
}

func (s breakingState) OnSignal(now time.Time, h *adaptive.RateLimitHit) {
	s.at("OnSignal")
	s.State.OnSignal(now, h)
}

func (s breakingState) View() adaptive.View { s.at("View"); return s.State.View() }

func (s breakingState) Explain(time.Time) string { s.at("Explain"); return "" }

func (s breakingState) Save(time.Time) ([]byte, error) { s.at("Save"); return []byte("{}"), nil }

func (s breakingState) OnMeters(time.Time, throttle.Sent, [throttle.Units]adaptive.Meter) {
	s.at("OnMeters")
}

// A law that panics, wherever that is, costs no call and no slot, and is reported once.
func TestALawThatPanicsIsOutOfUse(t *testing.T) {
	methods := []string{"Admit", "Slack", "OnSend", "View", "Explain", "Save", "OnMeters", "OnSignal"}
	for _, v := range []adaptive.Verdict{adaptive.OK, adaptive.Hit, adaptive.Unsent, adaptive.Transient} {
		methods = append(methods, "On"+v.String())
	}
	for _, method := range methods {
		for _, layers := range []int{1, 3} {
			t.Run(fmt.Sprint(method, " of ", layers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var seen journal
					in := ""
					g := made(t, guard.Policy{Name: "api", Law: breaking{&in}, Observer: &seen})
					call, all := g, []*guard.Guard{g}
					if layers == 3 {
						outer := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 9}})
						inner := made(t, guard.Policy{Within: []*guard.Guard{g}, Limits: throttle.Limits{Concurrency: 9}})
						call, all = guard.Join(inner, outer), append(all, inner, outer)
						require.Same(t, g, inner.Learner())
					}
					var wg sync.WaitGroup
					var ended [4]time.Duration
					begin := time.Now()
					for i := range 4 { // two of them wait
						wg.Go(func() {
							hit := i == 0
							assert.NoError(t, do(t.Context(), call, func(context.Context) error {
								time.Sleep(10 * time.Second)
								if hit {
									hit = false
									return &adaptive.RateLimitHit{RetryAfter: time.Minute}
								}
								return nil
							}))
							ended[i] = time.Since(begin)
						})
						synctest.Wait()
					}
					in = method
					provoke(t, g)
					wg.Wait()
					for _, d := range ended {
						assert.LessOrEqual(t, d, 2*time.Minute, "no call hangs")
					}
					assert.GreaterOrEqual(t, ended[0], 70*time.Second, "the provider asked for it")
					provoke(t, g)
					for _, one := range all {
						assert.Zero(t, one.Stats().InFlight+one.Stats().Waiting)
					}
					require.NoError(t, do(t.Context(), call, nothing))
					assert.Contains(t, g.Stats().Why, "the law guard_test.breaking panicked")
					var reported []event.Event
					for _, e := range seen.events {
						if e.Kind == event.LimiterChanged {
							reported = append(reported, e)
						}
					}
					require.Len(t, reported, 1)
					failed := new(fault.PanicError)
					require.ErrorAs(t, reported[0].Err, &failed)
					assert.Equal(t, method, failed.Value)
					_, err := g.Save()
					require.ErrorAs(t, err, &failed, "what another law learned is not saved as that of this one")

					in = ""
					require.NoError(t, g.Set(guard.Policy{Law: breaking{&in}}))
					assert.Equal(t, 2, g.Stats().View.Concurrency, "Set starts it anew")
					assert.NotContains(t, g.Stats().Why, "panicked")
				})
			})
		}
	}
}

// provoke calls the methods of g's controller that no ordinary call uses.
func provoke(t *testing.T, g *guard.Guard) {
	t.Helper()
	_ = g.Stats()
	_, _ = g.Save()
	outer := g
	inner := made(t, guard.Policy{Propagate: true})
	_ = outer.Try(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
		_ = inner.Try(ctx, throttle.Cost{}, func(context.Context) error { return &adaptive.RateLimitHit{} })
		return nil
	})
	for _, f := range []adaptive.Feedback{of(adaptive.Transient), of(adaptive.Unsent)} {
		call := g.Begin(throttle.Cost{})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		_, err := call.Admit(ctx)
		if err == nil {
			call.ApplyMeters([throttle.Units]adaptive.Meter{})
			_, _ = call.End(f)
		}
		cancel()
	}
}

// The 429 at which the controller panics is learned by the one in its place.
func TestTheRejectionAtWhichALawPanicsIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := "On" + adaptive.Hit.String()
		g := made(t, guard.Policy{Law: breaking{&in}})
		var sent []time.Time
		require.NoError(t, do(t.Context(), g, func(context.Context) error {
			if sent = append(sent, time.Now()); len(sent) == 1 {
				return statusError(429)
			}
			return nil
		}))
		assert.EqualValues(t, 1, g.Stats().View.Hits)
		assert.Greater(t, sent[1].Sub(sent[0]), 100*time.Millisecond, "there was no Retry-After")
	})
}
