package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
)

// journal records the observers and their events, in order; not safe for concurrent use.
type journal []string

func (j *journal) as(name string) event.Observer {
	return event.Func(func(e event.Event) { *j = append(*j, name+":"+e.Source) })
}

func panicking() event.Observer {
	return event.Func(func(event.Event) { panic("observer") })
}

func of(source string) event.Event { return event.Event{Source: source} }

func TestNilFuncDoesNothing(t *testing.T) {
	assert.NotPanics(t, func() { event.Func(nil).Observe(of("a")) })
}

func TestTeeOfNobodyIsNil(t *testing.T) {
	for name, o := range map[string]event.Observer{
		"none":     event.Tee(),
		"nil":      event.Tee(nil, nil),
		"nil func": event.Tee(event.Func(nil)),
		"nested":   event.Tee(event.Tee(nil), event.Tee()),
	} {
		assert.True(t, o == nil, name) // an interface that holds a nil pointer would not do
	}
}

func TestTeeTellsEachInTurn(t *testing.T) {
	var j journal
	inner := event.Tee(j.as("b"), nil, j.as("c"))
	o := event.Tee(nil, j.as("a"), inner, event.Func(nil), j.as("d"))
	o.Observe(of("1"))
	assert.Equal(t, journal{"a:1", "b:1", "c:1", "d:1"}, j)
}

type noter struct {
	j    *journal
	name string
}

func (n *noter) Observe(e event.Event) { *n.j = append(*n.j, n.name+":"+e.Source) }

// odd has a type that can be compared, and a value that cannot.
type odd struct{ of any }

func (odd) Observe(event.Event) {}

func TestTeeTellsOnceWhoIsGivenTwice(t *testing.T) {
	var j journal
	a, b, f := &noter{&j, "a"}, &noter{&j, "a"}, j.as("f")
	event.Tee(a, b, event.Tee(a, f), f, event.Tee(b)).Observe(of("1"))
	assert.Equal(t, journal{"a:1", "a:1", "f:1", "f:1"}, j, "of functions nobody knows")

	j = nil
	ctx := event.With(event.With(event.With(t.Context(), a), f), a)
	event.From(ctx).Observe(of("2"))
	assert.Equal(t, journal{"a:2", "f:2"}, j)
	assert.NotPanics(t, func() { event.Tee(odd{[]int{}}, odd{[]int{}}, odd{}).Observe(of("3")) })
}

func TestTeePanicStopsNobody(t *testing.T) {
	var j journal
	o := event.Tee(panicking(), j.as("a"), panicking(), j.as("b"))
	require.NotPanics(t, func() { o.Observe(of("1")) })
	assert.Equal(t, journal{"a:1", "b:1"}, j)
	assert.NotPanics(t, func() { event.Tee(panicking()).Observe(of("1")) }, "a single observer is guarded too")
}

func TestTeeKeepsItsOwnList(t *testing.T) {
	var j journal
	list := []event.Observer{j.as("a"), j.as("b")}
	o := event.Tee(list...)
	list[0] = j.as("x")
	o.Observe(of("1"))
	assert.Equal(t, journal{"a:1", "b:1"}, j)
}

// Observers end up as map keys, and a slice behind the interface would panic.
func TestTeeIsComparable(t *testing.T) {
	var j journal
	o := event.Tee(j.as("a"), j.as("b"))
	assert.NotPanics(t, func() { assert.True(t, map[event.Observer]bool{o: true}[o]) })
}
