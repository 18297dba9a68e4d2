package event_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
)

func TestSlogWritesARequest(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := event.New(now, event.NetRequest, "openai")
	e.Attempt, e.Wait = 2, time.Second
	e.Request = &event.Request{
		ID: "i", Run: "r", Method: "POST", URL: "https://h/p", Status: 200, Proto: "HTTP/2.0",
		FirstByte: 3, Waited: 2, Sent: 4, Received: 5, Reused: true,
	}
	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "DEBUG", "msg": "headrace event",
		"kind": "net.request", "source": "openai", "attempt": 2.0, "wait_ms": 1e3,
		"id": "i", "run": "r", "method": "POST", "url": "https://h/p", "status": 200.0, "proto": "HTTP/2.0",
		"first_byte_ms": 3e-6, "waited_ms": 2e-6, "sent": 4.0, "received": 5.0, "cached": false, "reused": true,
	}, logged(t, e))

	e.Request, e.Err = &event.Request{}, errors.New("refused")
	assert.Equal(t, map[string]any{
		"time": "2026-01-02T03:04:05Z", "level": "WARN", "msg": "headrace event",
		"kind": "net.request", "source": "openai", "attempt": 2.0, "wait_ms": 1e3, "err": "refused",
		"sent": 0.0, "received": 0.0, "cached": false, "reused": false,
	}, logged(t, e))
}

func TestNetRequestKeepsItsNameAndLevel(t *testing.T) {
	assert.Equal(t, "net.request", string(event.NetRequest))
	assert.Equal(t, slog.LevelDebug, event.DefaultLevel(event.Event{Kind: event.NetRequest}))
	assert.Equal(t, slog.LevelWarn, event.DefaultLevel(event.Event{Kind: event.NetRequest, Err: errors.New("refused")}))
}
