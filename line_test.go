package headrace_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Requests of a transport wait in line, and what ends their wait is in the error.
func TestRequestsWaitInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 1}, Retry: &retry.Policy{Initial: time.Second, NoJitter: true}})
		require.NoError(t, err)
		var mu sync.Mutex
		var sent []string
		base := tripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			name := r.Header.Get("Name")
			again := len(sent) > 0 && sent[len(sent)-1] == name
			sent = append(sent, name)
			mu.Unlock()
			time.Sleep(10 * time.Second)
			if name == "rejected" && !again {
				return answer(http.StatusTooManyRequests, "Retry-After: 5", `{}`), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		})
		c := &http.Client{Transport: under(base, presets.OpenAITier1, g)}
		lines := line.New(line.Config{MaxQueue: 3, MaxWait: 30 * time.Second})
		var wg sync.WaitGroup
		tickets, errs := map[string]*line.Ticket{}, map[string]error{}
		get := func(name string, p line.Priority) {
			ctx, ticket := lines.With(t.Context(), line.Caller{Client: name, Priority: p})
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(chatURL, "/chat/completions")+"/models", http.NoBody)
			require.NoError(t, err)
			req.Header.Set("Name", name)
			tickets[name] = ticket
			wg.Go(func() {
				resp, err := c.Do(req)
				if err == nil {
					assert.Equal(t, http.StatusOK, resp.StatusCode, name)
					read(t, resp)
				}
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			})
			synctest.Wait()
		}
		get("rejected", line.Batch)
		get("late", line.Batch)
		get("batch", line.Batch)
		get("interactive", line.Interactive)
		get("full", line.Interactive)
		wg.Wait()
		assert.Equal(t, []string{"rejected", "rejected", "interactive"}, sent)
		require.NoError(t, errors.Join(errs["rejected"], errs["interactive"]))
		full, ok := errors.AsType[*line.FullError](errs["full"])
		require.True(t, ok, errs["full"])
		assert.Equal(t, 3, full.Waiting)
		for _, name := range []string{"late", "batch"} {
			late, ok := errors.AsType[*line.WaitError](errs[name])
			require.True(t, ok, errs[name])
			assert.Equal(t, 30*time.Second, late.Waited)
			assert.Zero(t, tickets[name].Attempts())
		}
		assert.Equal(t, 2, tickets["rejected"].Attempts())
		assert.InDelta(t, 5*time.Second, tickets["rejected"].Waited(), float64(time.Second))
		assert.InDelta(t, 25*time.Second, tickets["interactive"].Waited(), float64(time.Second))
	})
}

// A request that the client has abandoned makes room for the next one at once.
func TestARequestThatLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 1}})
		require.NoError(t, err)
		base := tripper(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Minute):
				return answer(http.StatusOK, "", `{}`), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		c := &http.Client{Transport: under(base, presets.OpenAITier1, g)}
		lines := line.New(line.Config{})
		var wg sync.WaitGroup
		begin := func() (leave context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			own, _ := lines.With(ctx, line.Caller{})
			req, err := http.NewRequestWithContext(own, http.MethodGet, chatURL, http.NoBody)
			require.NoError(t, err)
			wg.Go(func() {
				resp, err := c.Do(req)
				if err == nil {
					read(t, resp)
				} else {
					assert.ErrorIs(t, err, context.Canceled)
				}
			})
			synctest.Wait()
			return cancel
		}
		var leave []context.CancelFunc
		for range 1000 {
			leave = append(leave, begin())
		}
		stay := begin()
		defer stay()
		assert.Equal(t, 1000, lines.Stats()[0].Waiting)
		for _, leave := range leave {
			leave()
		}
		began := time.Now()
		synctest.Wait()
		assert.Zero(t, lines.Stats()[0].Waiting)
		wg.Wait()
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Zero(t, g.Stats().InFlight)
	})
}
