package event

import (
	"slices"

	"github.com/headrace/headrace/internal/tee"
)

// Observer receives events. Observe must be safe for concurrent use and return at
// once. Put an observer that cannot promise this behind [NewBuffer].
type Observer interface {
	Observe(e Event)
}

// Func is a function as an Observer. A nil Func does nothing.
type Func func(e Event)

// Observe calls f.
func (f Func) Observe(e Event) {
	if f != nil {
		f(e)
	}
}

// send gives e to o, and recovers o's panic. A nil o discards it.
func send(o Observer, e Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }() // an observer must not stop the work
	o.Observe(e)
}

// Tee returns an observer that forwards to observers, in order, or nil if all of
// them are nil. A panic of one is recovered. A pointer that is given twice receives
// each event once; a Func receives it twice.
func Tee(observers ...Observer) Observer {
	t := &teed{}
	for _, o := range observers {
		switch o := o.(type) {
		case nil:
		case *teed:
			for _, o := range o.to {
				t.add(o)
			}
		case Func:
			if o != nil {
				t.add(o)
			}
		default:
			t.add(o)
		}
	}
	if len(t.to) == 0 {
		return nil
	}
	return t
}

// teed is a pointer type so that observers stay comparable, and immutable so
// that contexts can share it.
type teed struct{ to []Observer }

func (t *teed) add(o Observer) {
	if !t.has(o) {
		t.to = append(t.to, o)
	}
}

func (t *teed) has(o Observer) bool {
	return slices.ContainsFunc(t.to, func(of Observer) bool { return tee.Same(of, o) })
}

func (t *teed) Observe(e Event) {
	for _, o := range t.to {
		send(o, e)
	}
}

// Observers lists what t stands for. It is for package emit.
func (t *teed) Observers(tee.Key) []Observer { return t.to }
