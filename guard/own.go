package guard

import (
	"context"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// own is Do for a call that is the context of its first attempt.
func (g *Guard) own(o inflight.Own, c throttle.Cost) error {
	others, free := g.lets(&c)
	if err := g.begins(o, free); err != nil {
		return err
	}
	if !free {
		return g.Begin(c).do(o, o.Call)
	}
	k, err := g.entered(o)
	if k == nil {
		return nil
	}
	again, err := k.call.landed(o.Began(), others, &adaptive.Feedback{Err: err})
	if again {
		return k.call.do(o.Around(), o.Call)
	}
	return err
}

// begins has o begin. A free call is in flight already, and is taken out again if it does not begin.
func (g *Guard) begins(o inflight.Own, free bool) (err error) {
	begun := false
	defer func() { // also after runtime.Goexit in an observer
		if free && !begun {
			g.unbegun()
		}
	}()
	err = o.Begin(free)
	begun = err == nil
	return err
}

// entered makes the first attempt. It returns nil if that has ended with it.
func (g *Guard) entered(o inflight.Own) (k *attempt, err error) {
	returned := false
	defer func() {
		exited := false
		if !returned {
			if v := recover(); v != nil {
				err = panics.Error(v)
			} else { // runtime.Goexit
				exited = true
			}
		}
		if k, _ = o.Leave(err).(*attempt); k == nil {
			g.landed()
		} else if exited {
			k.call.loose.leave()
		}
	}()
	err = o.Call(o)
	returned = true
	return nil, err
}

// loosely is the first attempt of a call that was not admitted.
func loosely(ctx context.Context, g *Guard, c throttle.Cost, over bool) *attempt {
	l := &looseCall{Context: ctx, guard: g, cost: reserving(c)}
	l.left.Store(over)
	k := &l.made().first
	k.over = over
	return k
}

func init() { //nolint:gochecknoinits // it is below package inflight's users
	inflight.OnOwn(
		func(g any, o inflight.Own, c throttle.Cost) error { return g.(*Guard).own(o, c) }, //nolint:forcetypeassert // see there
		func(ctx context.Context, g any, c throttle.Cost, over bool) inflight.Attempt {
			return loosely(ctx, g.(*Guard), c, over) //nolint:forcetypeassert // see there
		},
		func(g any) bool { return g.(*Guard).free.Load() }) //nolint:forcetypeassert // see there
}
