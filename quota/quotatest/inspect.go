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
