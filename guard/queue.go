package guard

import (
	"context"

	"github.com/headrace/headrace/throttle"
)

// queue waits for the layers that are missing, all at one instant.
func (c *Call) queue(ctx context.Context, k *attempt, o onlooker) (err error) {
	if k.missing() == 1 {
		i := 0
		for k.parts[i].outer != nil {
			i++
		}
		p := &k.parts[i]
		var place int64
		if len(c.wait.places) > 0 {
			place = c.wait.places[i]
		}
		p.permit, err = p.guard.engine.Acquire(ctx, c.cost, place, o)
		return err
	}
	limiters, permits := k.lacking()
	var places []int64
	for i := range c.wait.places {
		if k.parts[i].outer == nil {
			places = append(places, c.wait.places[i])
		}
	}
	if err = c.guard.layers[0].engine.AcquireAll(ctx, limiters, c.cost, places, permits, o); err == nil {
		k.fill(permits)
	}
	return err
}

// fewLayers has most calls allocate once for what is needed for each layer.
type fewLayers struct {
	parts    [mostFew]part
	limiters [mostFew]*throttle.Limiter
	permits  [mostFew]throttle.Permit
}

const mostFew = 4

// lacking returns the limiters of the layers that are missing, and room for a
// permit of each.
func (k *attempt) lacking() (limiters []*throttle.Limiter, permits []throttle.Permit) {
	few := k.few
	if few == nil {
		few = new(fewLayers)
	}
	limiters, permits = few.limiters[:0], few.permits[:0]
	for i := range k.parts {
		if p := &k.parts[i]; p.outer == nil {
			limiters, permits = append(limiters, p.guard.throttle), append(permits, throttle.Permit{})
		}
	}
	return limiters, permits
}

// missing is how many layers k has no permit of.
func (k *attempt) missing() (n int) {
	for i := range k.parts {
		if k.parts[i].outer == nil {
			n++
		}
	}
	return n
}

// fill gives the permits to the parts that have none.
func (k *attempt) fill(permits []throttle.Permit) {
	for i := range k.parts {
		if p := &k.parts[i]; p.outer == nil {
			p.permit, permits = permits[0], permits[1:]
		}
	}
}
