package node_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// sdkError is an error that carries a provider's answer, as those of SDKs do.
type sdkError struct {
	StatusCode int
	Response   *http.Response
	Body       string
}

func (a *sdkError) Error() string { return fmt.Sprint("status ", a.StatusCode) }

func told(status int, body string, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return fmt.Errorf("call: %w", &sdkError{StatusCode: status, Body: body, Response: &http.Response{StatusCode: status, Header: h}})
}

// Without a limiter a dialect is asked all the same: a 403 would be an answer
// that no retry gets another of.
func TestADialectIsEnoughToWaitARefusalOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		exec := func(context.Context) error {
			if calls.Add(1) == 1 {
				return told(403, `{"message": "You have exceeded a secondary rate limit."}`, "Retry-After", "5")
			}
			return nil
		}
		began := time.Now()
		_, err := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, exec(ctx) }).
			With(guard.Policy{Dialect: dialect.GitHub}).All(t.Context(), numbers(3))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		assert.Equal(t, int64(4), calls.Load())

		calls.Store(0)
		_, err = node.Do("s", func(ctx context.Context, _ *state) error { return exec(ctx) }).
			With(guard.Policy{Dialect: dialect.GitHub}).Run(t.Context(), &state{})
		require.NoError(t, err)
		assert.Equal(t, int64(2), calls.Load())

		calls.Store(0)
		_, err = node.Map("m", func(ctx context.Context, i int) (int, error) { return i, exec(ctx) }).All(t.Context(), numbers(3))
		assert.Error(t, err, "it is the dialect that knows")
	})
}

// A rule to keep is kept in every interval, although nothing is ever refused.
func TestAHardPresetIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		auditor := oracle.NewAuditor(oracle.Sliding(0, 20, time.Minute), oracle.Concurrency(2))
		began := time.Now()
		var mu sync.Mutex // guards auditor
		note := func(e oracle.Entry) int {
			mu.Lock()
			defer mu.Unlock()
			e.At = time.Since(began)
			return auditor.Add(e)
		}
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			n := note(oracle.Entry{Weights: oracle.Weights{1}})
			defer note(oracle.Entry{Kind: oracle.End, Of: n})
			return i, work(ctx, 4*time.Second)
		}).WithParallel(8).WithPreset(presets.GenericConservative)
		_, err := m.All(t.Context(), numbers(90))
		require.NoError(t, err)
		require.NoError(t, auditor.Verdict().Err())
		for _, tally := range auditor.Verdict().Tallies {
			assert.Greater(t, tally.Worst.Observed, tally.Worst.Allowed-2, "%s was not used to the full", tally.Rule)
		}
	})
}

// What the provider really allows is found from there, up and down.
func TestAPresetIsNoCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, time.Second) }).
			WithParallel(40).WithPreset(presets.OpenAITier1)
		began := time.Now()
		_, err := m.All(t.Context(), numbers(500))
		require.NoError(t, err)
		assert.InDelta(t, 500/32, time.Since(began).Seconds(), 10, "the quota of the first minute, 32 calls in flight")
		_, err = m.All(t.Context(), numbers(4_500))
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 5*time.Minute, "it would be ten minutes, but nothing is refused")
	})
}

func TestNamesOfPresetsAndDialects(t *testing.T) {
	var unknown *presets.UnknownError
	require.ErrorAs(t, node.Map("m", same).WithPreset("openai/teir1").Validate(), &unknown)
	assert.Contains(t, unknown.Near, presets.OpenAITier1)
	require.ErrorAs(t, node.Map("m", same).WithPreset("gemini/free/gemini-3.1-pro").Validate(), new(*presets.UnavailableError))
	require.ErrorAs(t, node.Map("m", same).With(guard.Policy{Dialect: dialect.Name("opneai")}).Validate(), new(*dialect.UnknownError))
}

var olderRows atomic.Int64 // each row is reported once in a process, and all runs of go test -count are one process

// older returns a preset that no test has run with.
func older(t *testing.T) presets.Profile {
	t.Helper()
	n := olderRows.Add(1)
	for _, p := range presets.Default().All() {
		if n--; n < 0 && p.Kind != presets.KindUnavailable {
			return p
		}
	}
	t.Skip("all presets are used up")
	return presets.Profile{}
}

// However many nodes and runs there are, a stale preset is reported once.
func TestAStalePresetIsToldOnce(t *testing.T) {
	p := older(t)
	synctest.Test(t, func(t *testing.T) {
		var events log
		stale := func() (all []event.Event) {
			for _, e := range events.all() {
				if e.Kind == event.LimiterStalePreset {
					all = append(all, e)
				}
			}
			return all
		}
		ctx := event.With(t.Context(), &events)
		run := func(ctx context.Context) {
			var running sync.WaitGroup
			for range 4 {
				running.Go(func() {
					_, err := node.Map("m", same).WithPreset(p.ID).All(ctx, numbers(1))
					assert.NoError(t, err)
				})
			}
			running.Wait()
		}
		run(ctx)
		assert.Empty(t, stale(), "it is of the year 2000")
		time.Sleep(time.Until(p.AsOf.Add(366 * 24 * time.Hour)))
		run(t.Context())
		assert.Empty(t, stale(), "without an observer there is no event yet")
		now := time.Now()
		run(ctx)
		_, err := node.Do("s", func(context.Context, *state) error { return nil }).With(guard.Policy{Preset: p.ID}).Run(ctx, &state{})
		require.NoError(t, err)
		require.Len(t, stale(), 1)
		e := stale()[0]
		assert.Equal(t, string(p.ID), e.Key)
		assert.Equal(t, "m", e.Source)
		assert.Equal(t, event.NoIndex, e.Index)
		assert.Equal(t, now, e.Time)
		assert.Contains(t, e.Reason, p.Date())
		assert.Contains(t, e.Reason, p.Source.URL)
	})
}
