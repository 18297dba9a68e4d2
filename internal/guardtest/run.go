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

// Caller makes one call that costs c, whose attempts are a.Do, and returns how it ended.
type Caller func(ctx context.Context, c throttle.Cost, a *Attempts) error

// Door is a way to make guarded calls.
type Door struct {
	Name string
	// Open returns a caller under p and the guard of its calls. It is called in a
	// synctest bubble: close what it starts by t.Cleanup.
	Open func(t *testing.T, p guard.Policy) (Caller, *guard.Guard)
	// Lacks names the cases that the door cannot have, each with the reason.
	Lacks map[string]string
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
			if a.Within() != nil {
				return guard.Join(a.Within(), g).Do(ctx, c, a.Do)
			}
			return g.Do(ctx, c, a.Do)
		}, g
	}}
}

// Run runs every case through the door.
func Run(t *testing.T, d Door) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if why := d.Lacks[c.name]; why != "" {
				t.Skip(why)
			}
			want := c.play(t, Guard())
			c.check(t, want)
			if d.Name == "guard" {
				return
			}
			got := c.play(t, d)
			c.arrange(want)
			c.arrange(got)
			for i := range want {
				if !reflect.DeepEqual(want[i], got[i]) {
					t.Errorf("call %d came out as %+v; through guard.Guard it is %+v", i, got[i], want[i])
				}
			}
		})
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

// play makes the calls of c through d.
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
				a := &Attempts{begin: begin, within: keys[one.Key], answers: one.Answers}
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
