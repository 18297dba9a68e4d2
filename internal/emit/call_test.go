package emit_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
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
		emit.SendCall(to, c)
	}
	assert.Equal(t, []event.Call{c, c}, first.got)
	assert.Equal(t, []event.Call{c}, second.got)

	assert.False(t, emit.WantsCalls(nil))
	assert.False(t, emit.WantsCalls(none))
	assert.False(t, emit.WantsCalls(event.Tee(none, none)))
	assert.True(t, emit.WantsCalls(first))
	assert.True(t, emit.WantsCalls(all))
}

type counting struct {
	event.Func

	count map[string]*atomic.Int64
}

func (c *counting) ItemCounter(node string) *atomic.Int64 { return c.count[node] }

type breaking struct{ event.Func }

func (breaking) ItemCounter(string) *atomic.Int64 { panic("no") }

func TestItemCounters(t *testing.T) {
	var one, two, other atomic.Int64
	a, b := &counting{count: map[string]*atomic.Int64{"n": &one, "other": &other}}, &counting{count: map[string]*atomic.Int64{"n": &two}}
	o := event.Tee(a, event.Func(func(event.Event) {}), breaking{}, event.Tee(b))
	assert.Equal(t, []*atomic.Int64{&one, &two}, emit.ItemCounters(o, "n"))
	assert.Equal(t, []*atomic.Int64{&other}, emit.ItemCounters(o, "other"))
	assert.Equal(t, []*atomic.Int64{&two}, emit.ItemCounters(b, "n"))
	assert.Empty(t, emit.ItemCounters(o, "nobody"))
	assert.Empty(t, emit.ItemCounters(nil, "n"))
	assert.Empty(t, emit.ItemCounters(event.Func(nil), "n"))
}
