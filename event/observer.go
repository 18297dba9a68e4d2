package event

import (
	"reflect"
	"slices"
)

// Observer is told what happens.
//
// Observe is called from many goroutines at once, outside of every lock, on
// the goroutine that does the work: it must be safe for concurrent use and
// return at once. Put an observer that cannot promise this behind [NewBuffer].
type Observer interface {
	Observe(e Event)
}

// Func makes an Observer of a function, to which the same rules apply. A nil
// Func does nothing.
type Func func(e Event)

// Observe calls f.
func (f Func) Observe(e Event) {
	if f != nil {
		f(e)
	}
}

// Send tells o about e. It does nothing if o is nil, and recovers o's panic.
// Emitters use it in place of o.Observe. The goroutine must hold no lock that
// an observer could want.
func Send(o Observer, e Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }() // an observer never takes the work down
	o.Observe(e)
}

// Tee returns an observer that tells each of observers in the order given.
// Nils are dropped; without any observer left it returns nil. One that panics
// stops neither the others nor the caller. An observer that is given twice is
// told once if it is a pointer, as nearly all are: of a Func nobody knows whether it is the same.
func Tee(observers ...Observer) Observer {
	t := &tee{}
	for _, o := range observers {
		switch o := o.(type) {
		case nil:
		case *tee:
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

// tee is a pointer type so that observers stay comparable, and immutable so
// that contexts can share it.
type tee struct{ to []Observer }

func (t *tee) add(o Observer) {
	if !t.has(o) {
		t.to = append(t.to, o)
	}
}

func (t *tee) has(o Observer) bool {
	return slices.ContainsFunc(t.to, func(of Observer) bool { return same(of, o) })
}

// Except returns o without those who are among others, and nil if that is nobody.
// Who sends to an observer of its own and to those of a context tells Except(own, From(ctx)) and
// then From(ctx), and nobody counts twice. It allocates if o stands for several of whom some are left.
func Except(o, others Observer) Observer {
	switch o := o.(type) {
	case nil:
		return nil
	case *tee:
		known := func(one Observer) bool { return among(one, others) }
		if !slices.ContainsFunc(o.to, known) {
			return o
		}
		return Tee(slices.DeleteFunc(slices.Clone(o.to), known)...)
	default:
		if among(o, others) {
			return nil
		}
		return o
	}
}

func among(o, others Observer) bool {
	if all, ok := others.(*tee); ok {
		return all.has(o)
	}
	return same(o, others)
}

// same reports whether a and b are one for sure: not all values can be compared.
func same(a, b Observer) bool {
	of := reflect.TypeOf(a)
	return of != nil && of.Kind() == reflect.Pointer && a == b
}

func (t *tee) Observe(e Event) {
	for _, o := range t.to {
		Send(o, e)
	}
}
