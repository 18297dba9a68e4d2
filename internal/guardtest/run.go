package guardtest

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Caller makes one call that costs c, with a.Do as its attempts, and returns how it ended.
type Caller func(ctx context.Context, c throttle.Cost, a *Attempts) error

// Door is a way to make guarded calls.
type Door struct {
	Name string
	// Open returns a caller under p and the guard of its calls. It is called in a
	// synctest bubble: close what it starts by t.Cleanup.
	Open func(t *testing.T, p guard.Policy) (Caller, *guard.Guard)
	// Crowded is Open for a door with n workers; nil if calls need no worker.
	Crowded func(t *testing.T, p guard.Policy, n int) (Caller, *guard.Guard)
	// Lacks maps the names of cases and abilities that the door cannot have to
	// the reason. Those cases are skipped.
	Lacks map[string]string
}

// Abilities that a door may lack.
const (
	Trying = "calls that do not wait"
	Bodies = "answers whose header comes first"
)

// lacks returns why d cannot have the case, or an empty string if it can.
func (d Door) lacks(c testCase) string {
	why := d.Lacks[c.name]
	for _, one := range c.calls {
		if one.Try {
			why = cmp.Or(why, d.Lacks[Trying])
		}
		for _, a := range one.Answers {
			if a.Drips > 0 {
				why = cmp.Or(why, d.Lacks[Bodies])
			}
		}
	}
	return why
}

// known fails the test if Lacks names neither a case nor an ability.
func (d Door) known(t *testing.T, all []testCase) {
	t.Helper()
	for name := range d.Lacks {
		if name != Trying && name != Bodies && !slices.ContainsFunc(all, func(c testCase) bool { return c.name == name }) {
			t.Errorf("the door lacks %q, which is neither a case nor an ability", name)
		}
	}
}

// made is a guard under p, within these.
func made(t *testing.T, p guard.Policy, within []*guard.Guard) *guard.Guard {
	t.Helper()
	p.Within = within
	g, err := guard.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Guard is the door that all others are compared with.
func Guard() Door {
	return Door{Name: "guard", Open: func(t *testing.T, p guard.Policy) (Caller, *guard.Guard) {
		t.Helper()
		g := made(t, p, p.Within)
		return func(ctx context.Context, c throttle.Cost, a *Attempts) error {
			g := g
			if a.Within() != nil {
				g = guard.Join(a.Within(), g)
			}
			if a.Try() {
				return g.Try(ctx, c, a.Do)
			}
			return g.Do(ctx, c, a.Do)
		}, g
	}, Lacks: map[string]string{Bodies: "a function returns when it has the whole answer"}}
}

// Run runs every case through the door.
func Run(t *testing.T, d Door) {
	t.Helper()
	all, crowded := cases(), crowdedCases()
	d.known(t, slices.Concat(all, crowded))
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
	if d.Crowded != nil {
		d.Open = func(t *testing.T, p guard.Policy) (Caller, *guard.Guard) {
			t.Helper()
			return d.Crowded(t, p, workers)
		}
	}
	for _, c := range crowded {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
}

// run plays c through d, checks the outcomes and compares them with those of guard.Guard.
func (c testCase) run(t *testing.T, d Door) {
	t.Helper()
	if why := d.lacks(c); why != "" {
		t.Skip(why)
	}
	got := c.play(t, d)
	c.check(t, got)
	if ref := Guard(); d.Name != ref.Name && ref.lacks(c) == "" {
		want := c.play(t, ref)
		for i := range want {
			if !reflect.DeepEqual(want[i], got[i]) {
				t.Errorf("call %d came out as %+v; through guard.Guard it is %+v", i, got[i], want[i])
			}
		}
	}
}

// arrange sorts the outcomes of each run of equal calls: which of them goes first is open.
func (c testCase) arrange(o []Outcome) {
	for i := 0; i < len(o); {
		j := i + 1
		for j < len(o) && reflect.DeepEqual(c.calls[i], c.calls[j]) {
			j++
		}
		slices.SortFunc(o[i:j], func(a, b Outcome) int {
			return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.Class, b.Class), slices.Compare(a.Sent, b.Sent))
		})
		i = j
	}
}

// play makes the calls of c through d, and arranges the outcomes.
func (c testCase) play(t *testing.T, d Door) (outcomes []Outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := c.policy()
		keys := map[*guard.Policy]*guard.Guard{}
		for _, one := range c.calls {
			if one.Key != nil && keys[one.Key] == nil {
				keys[one.Key] = made(t, *one.Key, p.Within)
			}
		}
		call, g := d.Open(t, p)
		begin := time.Now()
		outcomes = make([]Outcome, len(c.calls))
		var wg sync.WaitGroup
		for i, one := range c.calls {
			wg.Go(func() {
				time.Sleep(one.At) //nolint:forbidigo // in virtual time
				ctx := context.Background()
				if one.Deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, one.Deadline)
					defer cancel()
				}
				a := &Attempts{begin: begin, within: keys[one.Key], try: one.Try, answers: one.Answers}
				returned := false
				defer func() {
					o := Outcome{Class: "exited", Sent: a.times(), Ended: time.Since(begin)}
					if returned {
						o.Class = outcomes[i].Class
					}
					outcomes[i] = o
				}()
				outcomes[i].Class = ClassOf(call(ctx, one.Cost, a))
				returned = true
			})
		}
		wg.Wait()
		time.Sleep(time.Minute) //nolint:forbidigo // in virtual time: calls that hung return
		keys[nil] = g
		for _, g := range keys {
			if s := g.Stats(); s.InFlight != 0 || s.Waiting != 0 {
				t.Errorf("%s: %d slots and %d waiting calls of %q are left", d.Name, s.InFlight, s.Waiting, g.Name())
			}
		}
	})
	c.arrange(outcomes)
	return outcomes
}

// equal fails the test unless got is what is wanted.
func equal(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func atMost(t *testing.T, got, most time.Duration) {
	t.Helper()
	if got > most {
		t.Errorf("%s is more than %s", got, most)
	}
}

func atLeast(t *testing.T, got, least time.Duration) {
	t.Helper()
	if got < least {
		t.Errorf("%s is less than %s", got, least)
	}
}
