package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
)

type calls struct {
	event.Func

	got    []event.Call
	panics bool
}

func (c *calls) ObserveCall(call event.Call) {
	if c.panics {
		panic("observer")
	}
	c.got = append(c.got, call)
}

func TestSendCall(t *testing.T) {
	none, first, broken, second := event.Func(func(event.Event) {}), &calls{}, &calls{panics: true}, &calls{}
	all := event.Tee(none, first, broken, second)
	c := event.Call{Limiter: "l", Queued: time.Second, Took: time.Minute, Outcome: "ok"}
	for _, to := range []event.Observer{nil, none, all, first} {
		event.SendCall(to, c)
	}
	assert.Equal(t, []event.Call{c, c}, first.got)
	assert.Equal(t, []event.Call{c}, second.got)

	assert.False(t, event.WantsCalls(nil))
	assert.False(t, event.WantsCalls(none))
	assert.False(t, event.WantsCalls(event.Tee(none, none)))
	assert.True(t, event.WantsCalls(first))
	assert.True(t, event.WantsCalls(all))
}
