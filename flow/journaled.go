package flow

import (
	"reflect"
	"strconv"

	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/internal/invalid"
)

// recorded names what a batch records: two batches of one name would take each
// other's results.
type recorded struct {
	journal any
	node    string
}

// journaled is a node that may have a journal, as batches are.
type journaled interface {
	transparent
	Name() string
}

// checkNames reports batches with the same name and journal, each in another
// node of the flow. Those that are in one node are reported by the flow inside.
func (f *Flow[S]) checkNames(p *invalid.Problems) {
	known := map[recorded]any{}
	for _, n := range f.nodes() {
		inside := map[recorded]any{}
		findJournaled(n, inside)
		for r, x := range inside {
			if other, ok := known[r]; ok && other != x {
				p.Addf("node "+strconv.Quote(r.node), "two batches of this name have the same journal, and would take each other's results: "+
					"give each a name of its own")
			}
			known[r] = x
		}
	}
}

// findJournaled adds the batches with a journal that x is or contains. What is
// inside one of them is recorded under its items, and apart from others.
func findJournaled(x any, found map[recorded]any) {
	everything(x, map[any]bool{}, func(x any) bool {
		r, ok := recordedBy(x)
		if ok {
			found[r] = x
		}
		return !ok
	})
}

func recordedBy(x any) (r recorded, ok bool) {
	b, ok := x.(journaled)
	if !ok {
		return r, false
	}
	_, _, j := b.Inside(inside.Key{})
	if j == nil || !reflect.ValueOf(j).Comparable() {
		return r, false
	}
	return recorded{j, b.Name()}, true
}

// repeatsNames reports whether two batches anywhere in x have the same name and journal. Few flows have such, and
// only these are searched at each depth.
func repeatsNames(x any) (twice bool) {
	known := map[recorded]any{}
	everything(x, map[any]bool{}, func(x any) bool {
		if r, ok := recordedBy(x); ok {
			other, found := known[r]
			twice = twice || found && other != x
			known[r] = x
		}
		return true
	})
	return twice
}
