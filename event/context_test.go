package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
)

func TestFromWithoutObserverIsNil(t *testing.T) {
	assert.True(t, event.From(t.Context()) == nil)
}

func TestWithNilChangesNothing(t *testing.T) {
	ctx := t.Context()
	assert.Equal(t, ctx, event.With(ctx, nil))

	var j journal
	ctx = event.With(ctx, j.as("a"))
	assert.Equal(t, ctx, event.With(ctx, nil))
	event.From(event.With(ctx, event.Func(nil))).Observe(of("1"))
	assert.Equal(t, journal{"a:1"}, j)
}

func TestWithAddsToThoseBefore(t *testing.T) {
	var j journal
	ctx := event.With(event.With(t.Context(), j.as("a")), j.as("b"))
	event.From(ctx).Observe(of("1"))
	assert.Equal(t, journal{"a:1", "b:1"}, j)
}

func TestWithLeavesParentAndSiblingsAlone(t *testing.T) {
	var j journal
	parent := t.Context()
	for _, name := range []string{"a", "b", "c"} { // three, so that a shared slice would have room to spare
		parent = event.With(parent, j.as(name))
	}
	left := event.With(parent, j.as("left"))
	right := event.With(parent, j.as("right"))

	event.From(left).Observe(of("1"))
	assert.Equal(t, journal{"a:1", "b:1", "c:1", "left:1"}, j)
	j = nil
	event.From(right).Observe(of("2"))
	assert.Equal(t, journal{"a:2", "b:2", "c:2", "right:2"}, j)
	j = nil
	event.From(parent).Observe(of("3"))
	assert.Equal(t, journal{"a:3", "b:3", "c:3"}, j)
}
