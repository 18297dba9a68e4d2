package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
)

// chain is the store that the layers of a guard share. There is only one,
// because a call takes from all of them at one instant.
type chain struct {
	store quota.Store
	err   error // every call fails with it; may be nil
}

// conflict returns the error of every call of a guard with layers in different stores.
func (g *Guard) conflict() error {
	if g.chain == nil {
		return nil
	}
	return g.chain.err
}

// link finds the store of the layers.
func (g *Guard) link() {
	for i, l := range g.layers {
		if l.share == nil {
			continue
		}
		if g.chain == nil {
			g.chain = &l.share.chain
		}
		for _, o := range g.layers[:i] {
			if o.share == nil || g.chain.err != nil {
				continue
			}
			if problem := clash(o.name, o.share.store, l.name, l.share.store); problem != "" {
				g.chain = &chain{g.chain.store, &fault.FieldError{Owner: "guard", Field: "Join", Problem: problem}}
			}
		}
	}
}

// clash says why one call cannot take under two names from these stores; empty if it can.
func clash(a string, of quota.Store, b string, from quota.Store) string {
	switch {
	case of != from:
		return fmt.Sprintf("guard %q and guard %q have different stores: a call can take from one store only", a, b)
	case a == b:
		return fmt.Sprintf("guard %q and another guard %q have the same store: the name is the key there, so give them different names", a, b)
	}
	return ""
}

// checkStore reports a store that cannot be used by this policy.
func (p *Policy) checkStore(to *invalid.Problems) {
	switch {
	case p.Store == nil:
	case invalid.Nil(p.Store):
		to.Addf("Store", "it is a nil pointer: leave the field out to keep the limits in this process")
		return
	case !reflect.ValueOf(p.Store).Comparable():
		to.Addf("Store", "a %T cannot be compared with another store: use a pointer", p.Store)
		return
	case p.Name == "":
		to.Addf("Name", "it is empty: it is the key in Store")
	}
	shared := []*Guard{}
	for i, g := range p.Within {
		if g == nil {
			continue
		}
		if err, ok := errors.AsType[*fault.FieldError](g.conflict()); ok {
			to.Addf(fmt.Sprintf("Within[%d]", i), "%s", err.Problem)
			return
		}
		for _, l := range g.layers {
			if l.share == nil {
				continue
			}
			problem := ""
			if p.Store != nil {
				problem = clash(p.name(), p.Store, l.name, l.share.store)
			}
			for _, o := range shared {
				if problem == "" && o != l {
					problem = clash(o.name, o.share.store, l.name, l.share.store)
				}
			}
			if problem != "" {
				to.Addf(fmt.Sprintf("Within[%d]", i), "%s", problem)
				return
			}
			shared = append(shared, l)
		}
	}
}

// within calls the store, with a bound on how long it takes. A panic is its error.
func (n *chain) within(ctx context.Context, f func(context.Context, quota.Store) error) (err error) {
	defer panics.Catch(&err)
	ctx, cancel := context.WithTimeoutCause(ctx, inflight.StoreTimeout, inflight.ErrStoreSlow)
	defer cancel()
	return f(ctx, n.store)
}

// failed is err in the words of a call through g.
func (n *chain) failed(g *Guard, err error) error {
	return &inflight.StoreError{Guard: g.name, Kind: fmt.Sprintf("%T", n.store), Err: err}
}
