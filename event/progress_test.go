package event_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
)

func TestSlogWritesProgress(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := event.New(now, event.FlowProgress, "f")
	e.Wait = time.Second
	e.Progress = &event.Progress{Final: true, Items: event.Items{
		Total: 9, Pending: 1, Done: 2, Resumed: 3, Failed: 1, Retries: 5, Rate: 0.5, ETA: 4 * time.Second,
	}}
	want := map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "INFO", "msg": "headrace event",
		"kind": "flow.progress", "source": "f", "wait_ms": 1e3, "final": true,
		"total": 9.0, "pending": 1.0, "done": 2.0, "resumed": 3.0, "failed": 1.0, "retries": 5.0, "rate": 0.5, "eta_ms": 4e3,
	}
	assert.Equal(t, want, logged(t, e))
	e.Progress = &event.Progress{Final: true, Items: event.Items{Pending: 1, Done: 2, Resumed: 3, Failed: 1, Retries: 5, Rate: 0.5}}
	delete(want, "total")
	delete(want, "eta_ms")
	assert.Equal(t, want, logged(t, e))
}

func TestProgressKindsKeepTheirNamesAndLevels(t *testing.T) {
	for kind, want := range map[event.Kind]slog.Level{
		"flow.progress": slog.LevelInfo, "node.input": slog.LevelDebug, "item.resumed": slog.LevelDebug,
	} {
		assert.Equal(t, want, event.DefaultLevel(event.Event{Kind: kind}), kind)
	}
	assert.Equal(t, []event.Kind{"flow.progress", "node.input", "item.resumed"},
		[]event.Kind{event.FlowProgress, event.NodeInput, event.ItemResumed})
}

func TestEnded(t *testing.T) {
	i := event.Items{Total: 100, Pending: 50, Done: 1, Resumed: 2, Failed: 4, Abandoned: 8, Retries: 16}
	assert.Equal(t, int64(15), i.Ended())
}
