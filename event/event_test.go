package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewConcernsNoItem(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	assert.Equal(t,
		event.Event{Time: now, Kind: event.LimiterCut, Source: "openai", Index: event.NoIndex},
		event.New(now, event.LimiterCut, "openai"))
}

// The strings are what people filter their logs by.
func TestKindsKeepTheirNames(t *testing.T) {
	for kind, want := range map[event.Kind]string{
		event.LimiterHit:         "limiter.hit",
		event.LimiterCut:         "limiter.cut",
		event.LimiterRecovery:    "limiter.recovery",
		event.LimiterClosed:      "limiter.closed",
		event.LimiterStalePreset: "limiter.stale_preset",
		event.BreakerOpened:      "breaker.opened",
		event.BreakerHalfOpen:    "breaker.half-open",
		event.BreakerClosed:      "breaker.closed",
		event.NodeStarted:        "node.started",
		event.NodeFinished:       "node.finished",
		event.ItemDone:           "item.done",
		event.ItemFailed:         "item.failed",
		event.ItemRetry:          "item.retry",
		event.ItemAbandoned:      "item.abandoned",
		event.FlowStarted:        "flow.started",
		event.FlowStep:           "flow.step",
		event.FlowFinished:       "flow.finished",
	} {
		assert.Equal(t, want, string(kind))
	}
}
