package emit

import (
	"slices"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/tee"
)

// Except returns o without the observers that are also in others, or nil if none
// is left. A sender with an observer of its own sends to Except(own, event.From(ctx))
// and to event.From(ctx), so that no observer gets an event twice. It allocates
// only if some of several observers are left.
func Except(o, others event.Observer) event.Observer {
	all, ok := o.(several)
	switch {
	case o == nil:
		return nil
	case !ok && among(o, others):
		return nil
	case !ok:
		return o
	}
	known := func(one event.Observer) bool { return among(one, others) }
	list := all.Observers(tee.Key{})
	if !slices.ContainsFunc(list, known) {
		return o
	}
	return event.Tee(slices.DeleteFunc(slices.Clone(list), known)...)
}

func among(o, others event.Observer) bool {
	if all, ok := others.(several); ok {
		return slices.ContainsFunc(all.Observers(tee.Key{}), func(of event.Observer) bool { return tee.Same(of, o) })
	}
	return tee.Same(o, others)
}
