package event_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
)

// logged returns what a JSON handler at Debug writes about e.
func logged(t *testing.T, e event.Event, opts ...event.SlogOption) map[string]any {
	t.Helper()
	var out bytes.Buffer
	h := slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})
	event.Slog(slog.New(h), opts...).Observe(e)
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	return got
}

func TestSlogWritesWhatTheEventHas(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := event.Event{
		Time: now, Kind: event.LimiterCut, Source: "openai", Index: 0, Key: "k", Attempt: 2, Wait: time.Second,
		From: 8, To: 0, Reason: "the provider refused", Err: errors.New("429"),
	}
	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "WARN", "msg": "headrace event",
		"kind": "limiter.cut", "source": "openai", "index": 0.0, "key": "k", "attempt": 2.0, "wait_ms": 1e3,
		"from": 8.0, "to": 0.0, "reason": "the provider refused", "err": "429",
	}, logged(t, full))

	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "DEBUG", "msg": "headrace event", "kind": "node.started",
	}, logged(t, event.New(now, event.NodeStarted, "")))
}

func TestSlogLevels(t *testing.T) {
	failed := errors.New("failed")
	for _, tc := range []struct {
		kind event.Kind
		err  error
		want slog.Level
	}{
		{event.LimiterHit, failed, slog.LevelInfo},
		{event.LimiterCut, nil, slog.LevelWarn},
		{event.LimiterRecovery, nil, slog.LevelInfo},
		{event.LimiterClosed, failed, slog.LevelError},
		{event.LimiterStalePreset, nil, slog.LevelWarn},
		{event.BreakerOpened, failed, slog.LevelWarn},
		{event.BreakerHalfOpen, failed, slog.LevelInfo},
		{event.BreakerClosed, nil, slog.LevelInfo},
		{event.NodeStarted, nil, slog.LevelDebug},
		{event.NodeFinished, nil, slog.LevelInfo},
		{event.NodeFinished, failed, slog.LevelWarn},
		{event.ItemDone, nil, slog.LevelDebug},
		{event.ItemRetry, failed, slog.LevelDebug},
		{event.ItemFailed, failed, slog.LevelWarn},
		{event.ItemAbandoned, nil, slog.LevelWarn},
		{event.FlowStarted, nil, slog.LevelDebug},
		{event.FlowStep, nil, slog.LevelDebug},
		{event.FlowFinished, nil, slog.LevelInfo},
		{event.FlowFinished, failed, slog.LevelWarn},
		{"something.new", nil, slog.LevelInfo},
	} {
		e := event.Event{Kind: tc.kind, Err: tc.err}
		assert.Equal(t, tc.want, event.DefaultLevel(e), tc.kind)
		assert.Equal(t, tc.want.String(), logged(t, e)["level"], tc.kind)
	}
}

func TestSlogWithLevel(t *testing.T) {
	loud := event.WithLevel(func(e event.Event, usual slog.Level) slog.Level {
		if e.Kind == event.LimiterHit {
			return slog.LevelError
		}
		return usual
	})
	assert.Equal(t, "ERROR", logged(t, event.Event{Kind: event.LimiterHit}, loud)["level"])
	assert.Equal(t, "WARN", logged(t, event.Event{Kind: event.LimiterCut}, loud)["level"])
	assert.Equal(t, "WARN", logged(t, event.Event{Kind: event.LimiterCut}, event.WithLevel(nil), nil)["level"])
}

func TestSlogWithoutLoggerDiscards(t *testing.T) {
	assert.NotPanics(t, func() { event.Slog(nil).Observe(event.Event{Kind: event.LimiterHit}) })
}

func TestSlogAsksTheHandlerFirst(t *testing.T) {
	var out bytes.Buffer
	o := event.Slog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	o.Observe(event.Event{Kind: event.ItemDone})
	assert.Empty(t, out.String())
	o.Observe(event.Event{Kind: event.LimiterHit})
	assert.NotEmpty(t, out.String())
}

func TestSlogStampsAnEventWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := time.Now().Format(time.RFC3339Nano)
		assert.Equal(t, want, logged(t, event.Event{Kind: event.LimiterHit})["time"])
	})
}

func TestSlogKeepsTheLoggersAttributesAndTheErrorItself(t *testing.T) {
	var out bytes.Buffer
	var seen any
	h := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "err" {
			seen = a.Value.Any()
			return slog.String("err", "redacted")
		}
		return a
	}})
	event.Slog(slog.New(h).With("job", "nightly")).Observe(event.Event{Kind: event.ItemFailed, Err: context.Canceled})
	assert.Equal(t, context.Canceled, seen)
	assert.Contains(t, out.String(), `"job":"nightly"`)
	assert.Contains(t, out.String(), `"err":"redacted"`)
}
