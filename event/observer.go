package event

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
// told twice.
func Tee(observers ...Observer) Observer {
	t := &tee{}
	for _, o := range observers {
		switch o := o.(type) {
		case nil:
		case *tee:
			t.to = append(t.to, o.to...)
		case Func:
			if o != nil {
				t.to = append(t.to, o)
			}
		default:
			t.to = append(t.to, o)
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

func (t *tee) Observe(e Event) {
	for _, o := range t.to {
		Send(o, e)
	}
}
