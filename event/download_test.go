package event_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
)

func TestSlogWritesADownload(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := event.New(now, event.DownloadFetch, "h:1")
	e.Attempt, e.Wait = 2, time.Second
	e.Download = &event.Download{Target: "f", Requests: []string{"i", "j"}, Bytes: 5, Resumed: 3, Checksum: "sha256:00"}
	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "INFO", "msg": "headrace event",
		"kind": "download.fetch", "source": "h:1", "attempt": 2.0, "wait_ms": 1e3,
		"target": "f", "requests": []any{"i", "j"}, "bytes": 5.0, "resumed": 3.0, "checksum": "sha256:00",
	}, logged(t, e))

	e.Download, e.Err = &event.Download{}, errors.New("full")
	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "WARN", "msg": "headrace event",
		"kind": "download.fetch", "source": "h:1", "attempt": 2.0, "wait_ms": 1e3, "err": "full",
		"bytes": 0.0, "resumed": 0.0,
	}, logged(t, e))
}

func TestDownloadFetchKeepsItsNameAndLevel(t *testing.T) {
	assert.Equal(t, "download.fetch", string(event.DownloadFetch))
	assert.Equal(t, slog.LevelInfo, event.DefaultLevel(event.Event{Kind: event.DownloadFetch}))
	assert.Equal(t, slog.LevelWarn, event.DefaultLevel(event.Event{Kind: event.DownloadFetch, Err: errors.New("full")}))
}
