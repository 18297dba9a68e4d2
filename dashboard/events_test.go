package dashboard

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
)

func observing() *Dashboard { return &Dashboard{incoming: incoming{failed: map[string]int64{}}} }

func TestEventsAreWords(t *testing.T) {
	for about, c := range map[string]struct {
		e    event.Event
		want string
	}{
		"cut":         {event.Event{Kind: event.LimiterCut, From: 20, To: 14.126, Reason: "requests per second"}, "allows less, 14.13 instead of 20 requests per second"},
		"a rate":      {event.Event{Kind: event.LimiterCut, From: 20, To: 14, Reason: "requests per second: what got through"}, "allows less, 14 instead of 20 requests per second: what got through"},
		"the first":   {event.Event{Kind: event.LimiterCut, To: 75, Reason: "requests per second: what got through"}, "allows 75 requests per second: what got through"},
		"said once":   {event.Event{Kind: event.LimiterProbe, Reason: "tries more than was measured"}, "tries more than was measured"},
		"tries":       {event.Event{Kind: event.LimiterProbe, From: 51, To: 67, Reason: "tries what held before"}, "tries more, 67 instead of 51: tries what held before"},
		"no number":   {event.Event{Kind: event.LimiterProbe}, "tries more"},
		"one number":  {event.Event{Kind: event.LimiterRecovery, From: 3.00001, To: 3}, "allows more"},
		"gate":        {event.Event{Kind: event.LimiterGate, Wait: 1234567 * time.Microsecond}, "admits no call for 1.2s"},
		"short gate":  {event.Event{Kind: event.LimiterGate, Wait: 4567 * time.Microsecond}, "admits no call for 5ms"},
		"verdict":     {event.Event{Kind: event.LimiterVerdict, Reason: "a random rejection"}, "a random rejection"},
		"an error":    {event.Event{Kind: event.LimiterClosed, Err: errors.New("key sk-secret has no money")}, "closed: calls fail until it is reopened"},
		"breaker":     {event.Event{Kind: event.BreakerOpened, Wait: time.Minute, Err: errors.New("x")}, "circuit breaker opened for 1m0s"},
		"half open":   {event.Event{Kind: event.BreakerHalfOpen}, "circuit breaker tries one call"},
		"half closed": {event.Event{Kind: event.BreakerClosed}, "circuit breaker closed"},
		"paused":      {event.Event{Kind: event.LimiterPaused, Wait: time.Minute}, "paused for 1m0s"},
		"reopened":    {event.Event{Kind: event.LimiterReopened, Reason: "the pause was ended"}, "reopened: the pause was ended"},
		"changed":     {event.Event{Kind: event.LimiterChanged, Reason: "5/s"}, "changed: 5/s"},
		"old preset":  {event.Event{Kind: event.LimiterStalePreset, Reason: "the preset is of 2025"}, "the preset is of 2025"},
		"SDK retries": {event.Event{Kind: headrace.SDKRetries, Reason: "the SDK retries by itself"}, "the SDK retries by itself"},
	} {
		d := observing()
		c.e.Source, c.e.Time = "api", epoch
		d.Observe(c.e)
		lines, _ := d.incoming.take()
		assert.Equal(t, []Line{{ID: 1, Time: epoch, Limiter: "api", Kind: string(c.e.Kind), Text: c.want}}, lines, about)
	}
	d := observing()
	for _, kind := range []event.Kind{event.LimiterHit, event.LimiterWaited, event.NetRequest, "new"} {
		d.Observe(event.Event{Kind: kind})
	}
	lines, _ := d.incoming.take()
	assert.Empty(t, lines, "they are counted, or not of limiters")
}

func TestEventsAreBounded(t *testing.T) {
	d := observing()
	for i := range 3 * mostEvents {
		d.Observe(event.Event{Kind: event.LimiterChanged, Source: strconv.Itoa(i), Reason: strings.Repeat("ä", mostText)})
	}
	lines, _ := d.incoming.take()
	require.Len(t, lines, mostEvents)
	assert.Equal(t, "299", lines[mostEvents-1].Limiter)
	assert.Equal(t, int64(201), lines[0].ID)
	assert.LessOrEqual(t, len(lines[0].Text), mostText+3)
	lines[0].Text = "changed"
	again, _ := d.incoming.take()
	assert.NotEqual(t, lines[0].Text, again[0].Text, "a copy")

	for i := range 2 * mostNames {
		d.ObserveCall(event.Call{Limiter: strconv.Itoa(i), Outcome: "transient"})
	}
	for _, outcome := range []string{"terminal", "unclassified", "ok", "hit", event.Unadmitted} {
		d.ObserveCall(event.Call{Limiter: "0", Outcome: outcome})
	}
	_, failed := d.incoming.take()
	assert.Len(t, failed, mostNames)
	assert.Equal(t, int64(3), failed["0"])
}
