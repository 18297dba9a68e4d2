package quotatest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testInspector: an inspectable store shows the content of its books, and forgets the keys it has to.
func testInspector(w *watch) {
	store, ok := w.s.Store.(quota.Inspector)
	if !ok {
		w.Skip("the store is not a quota.Inspector")
	}
	ctx := w.Context()
	a := demand{"user a", limits{concurrency: 3, windows: []spec{
		newSpec(sliding, throttle.Requests, 4, forGood), newSpec(bucket, throttle.Tokens, 20, forGood),
	}}, throttle.Cost{Tokens: 6}}
	const aeon = 1000 * 24 * time.Hour // a calendar of hours may begin another one meanwhile, and the key is forgotten
	b := demand{key: "user b", limits: requests(fixed, 2, aeon)}
	held := w.take(forGood, a, b).Ticket
	w.end(w.take(forGood, a).Ticket, nil)
	w.cool(a.key, a.limits, forGood)
	w.shows(store, a, 1, true)
	w.shows(store, b, 0, false)
	state, err := store.Look(ctx, "unknown")
	w.check(err == nil && state.Limits.Windows == nil && state.Uses == nil && state.InFlight == 0 && state.Cooldown == 0,
		"a key that was never used has the state %+v, %v", state, err)
	w.keys(store, "user ", a.key, b.key)
	w.keys(store, "user b", b.key)
	w.keys(store, "nothing")

	w.must(store.Forget(ctx, a.key), "Forget")
	w.must(store.Forget(ctx, "unknown"), "Forget")
	w.keys(store, "user ", b.key)
	delete(w.books, a.key)
	w.check(w.drain(4, 0, demand{key: a.key, limits: requests(sliding, 4, forGood)}) == 0, "what was forgotten still counts")
	err = w.store().End(ctx, held, nil)
	w.check(errors.Is(err, quota.ErrLeaseLost), "the lease on a forgotten slot is not lost: %v", err)
	w.drain(2, 0, b)

	ended := w.endedContext()
	_, err = store.Look(ended, b.key)
	w.caused(err, "Look")
	w.caused(store.Forget(ended, b.key), "Forget")
	for _, err = range store.Keys(ended, "") {
		w.caused(err, "Keys")
	}
}

// testForgottenLease: a lease with a slot on a forgotten key is lost as a whole. It keeps its slots of other keys until it
// is renewed or ended; its windows keep their charge.
func testForgottenLease(w *watch) {
	store, ok := w.s.Store.(quota.Inspector)
	if !ok {
		w.Skip("the store is not a quota.Inspector")
	}
	ctx := w.Context()
	a := demand{key: "a", limits: slots(1)}
	b := demand{"b", limits{concurrency: 1, windows: []spec{newSpec(sliding, throttle.Tokens, 8*9, forGood)}}, throttle.Cost{Tokens: 9}}
	c := demand{key: "c", limits: slots(1)}
	d := demand{"d", limits{windows: []spec{newSpec(sliding, throttle.Tokens, 6*9, forGood)}}, throttle.Cost{Tokens: 9}} // for six calls
	for _, step := range []string{"Renew", "End", "Cancel"} {
		lose := func(t quota.Ticket) bool {
			switch step {
			case "Renew":
				lost, err := w.store().Renew(ctx, []quota.Ticket{t}, forGood)
				w.must(err, step)
				return len(lost) == 1
			case "End":
				return errors.Is(w.store().End(ctx, t, []throttle.Cost{{}, {Tokens: 99}, {}, {}}), quota.ErrLeaseLost)
			default:
				return errors.Is(w.store().Cancel(ctx, t), quota.ErrLeaseLost)
			}
		}
		held := w.take(forGood, a, b, c, d).Ticket
		if held.ID == "" {
			w.Fatalf("%s: four free keys were not given", step)
		}
		w.must(store.Forget(ctx, a.key), "Forget")
		delete(w.books, a.key)
		w.end(w.take(forGood, a).Ticket, nil) // its own slot is free at once
		w.take(forGood, b)
		w.take(forGood, c)
		w.check(lose(held), "%s: a lease on a forgotten slot is not lost", step)
		for _, other := range []demand{b, c} {
			w.books[other.key].leases[held.ID].over = true
			next := w.take(forGood, other).Ticket
			w.check(next.ID != "", "%s: a lost lease keeps its slot of %q", step, other.key)
			w.end(next, nil)
		}
		w.take(0, d)
		w.check(lose(held), "%s: a lost lease was found again", step)
	}
	w.take(0, d)
	late := w.take(short, a, b).Ticket
	w.must(store.Forget(ctx, a.key), "Forget")
	delete(w.books, a.key)
	w.passUntil(late.At + int64(short))
	w.check(w.take(forGood, b).Ticket.ID != "", "the other slots of a lost lease do not lapse")
}

// shows judges what the store shows of d.
func (w *watch) shows(store quota.Inspector, d demand, inFlight int, cooled bool) {
	w.Helper()
	t0 := w.now()
	state, err := store.Look(w.Context(), d.key)
	w.must(err, "Look")
	at := span{t0, w.now()}
	want := d.limits.limits()
	w.check(state.Limits.Concurrency == want.Concurrency && slices.Equal(state.Limits.Windows, want.Windows), "%s: %v, not %v", d.key, state.Limits, want)
	w.check(state.InFlight == inFlight, "%s: %d slots are taken, not %d", d.key, state.InFlight, inFlight)
	b := w.books[d.key]
	lo, hi := max(0, b.cooled.lo-at.hi), max(0, b.cooled.hi-at.lo)
	w.check((state.Cooldown > 0) == cooled && int64(state.Cooldown) >= lo && int64(state.Cooldown) <= hi, "%s: a cooldown of %s", d.key, state.Cooldown)
	w.usesOf(at, d.key, state.Uses, d.limits, b)
}

func (w *watch) keys(store quota.Inspector, prefix string, want ...string) {
	w.Helper()
	var got []string
	for key, err := range store.Keys(w.Context(), prefix) {
		w.must(err, "Keys")
		got = append(got, key)
	}
	slices.Sort(got)
	w.check(slices.Equal(got, want), "the keys %q begin with %q, not %q", got, prefix, want)
}

// testWaker: a store that announces ends does so for the keys that were asked
// for, and no longer than that.
func testWaker(w *watch) {
	store, ok := w.s.Store.(quota.Waker)
	if !ok {
		w.Skip("the store is not a quota.Waker")
	}
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	changed, err := store.Changed(ctx, "a", "b")
	w.must(err, "Changed")
	for _, d := range []demand{{key: "a", limits: slots(1)}, {key: "b", limits: slots(1)}} {
		t := w.take(forGood, d).Ticket
		w.check(!woken(changed, 0), "%s: awake, though nothing has ended", d.key)
		w.end(t, nil)
		w.check(woken(changed, w.s.patience), "%s: not awake, though a slot is free", d.key)
		w.cancel(w.take(forGood, demand{key: "c", limits: slots(1)}, d).Ticket)
		w.check(woken(changed, w.s.patience), "%s: not awake, though a slot is free", d.key)
	}
	w.end(w.take(forGood, demand{key: "c", limits: slots(1)}).Ticket, nil)
	w.check(!woken(changed, 0), "awake for a key that was not asked for")
	_, err = store.Changed(w.endedContext(), "a")
	w.caused(err, "Changed")
}

// testForgottenLeaseWakes: the end of a lease that was lost by a Forget announces the slots that it frees.
func testForgottenLeaseWakes(w *watch) {
	inspector, canForget := w.s.Store.(quota.Inspector)
	waker, canWake := w.s.Store.(quota.Waker)
	if !canForget || !canWake {
		w.Skip("the store is not a quota.Inspector and a quota.Waker")
	}
	b := demand{key: "b", limits: slots(1)}
	held := w.take(forGood, demand{key: "a", limits: slots(1)}, b).Ticket
	w.take(forGood, b)
	w.must(inspector.Forget(w.Context(), "a"), "Forget")
	changed, err := waker.Changed(w.Context(), "b")
	w.must(err, "Changed")
	w.check(errors.Is(w.store().End(w.Context(), held, nil), quota.ErrLeaseLost), "a lease on a forgotten slot is not lost")
	w.check(woken(changed, w.s.patience), "b: not awake, though a slot is free")
}

func woken(changed <-chan struct{}, within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-changed:
		return true
	default:
	}
	select {
	case <-changed:
		return true
	case <-late.C:
		return false
	}
}
