package group_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/throttle"
)

// A guard of a group does with a policy what any other guard does, wherever its calls are admitted.
func TestConformance(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *group.Group{
		"alone": group.ByItself, "https": group.OverHTTPS,
	} {
		t.Run(name, func(t *testing.T) { conforms(t, open) })
	}
}

func conforms(t *testing.T, open func(*testing.T) *group.Group) {
	t.Helper()
	const store = "a group shares the limits itself"
	guardtest.Run(t, guardtest.Door{
		Name: guardtest.Guard().Name, // which is not compared with itself: a law draws at random how late a pause ends
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			p.Name = "guard"
			g, err := open(t).Guard(p)
			if err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context, c throttle.Cost, a *guardtest.Attempts) error {
				g := g
				if a.Within() != nil {
					g = guard.Join(a.Within(), g)
				}
				if a.Try() {
					return g.Try(ctx, c, a.Do)
				}
				return g.Do(ctx, c, a.Do)
			}, g
		},
		Lacks: map[string]string{
			guardtest.Bodies:                  "a function returns when it has the whole answer",
			"a stale preset is reported once": "a table of presets cannot be shared",

			"limits are shared through a store":                       store,
			"two layers with the same store are one request to it":    store,
			"MaxWait and deadlines bound a call that a store rejects": store,
			"a slot of a store is given back":                         store,
			"a Retry-After goes to the store":                         store,
			"a store that is down fails the call":                     store,
		},
	})
}
