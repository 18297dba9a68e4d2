package group

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// desk is where a member uses a key.
type desk struct {
	session  *session
	key      *key // nil: failed is why there is none
	failed   error
	number   uint64
	text     []byte // spec as JSON
	came     int    // the how many-th member of the key it is; guarded by the key's lock
	other    bool   // its policy is not the one in force; guarded by the key's lock
	observes bool   // the member has an observer
	follows  bool   // the member is of an earlier leader, and has not reported what it has in flight
	spec     spec   // of the member

	mu      sync.Mutex                   // guards what follows
	waiting map[int64]context.CancelFunc // calls that were asked for
	calls   map[int64]held               // calls that were granted
	gone    bool
}

// held is a call in flight: one of the two is set.
type held struct {
	call *guard.Call
	end  func(adaptive.Feedback) // of one that an earlier leader has admitted
}

func (h held) conclude(f adaptive.Feedback) {
	if h.call != nil {
		_, _ = h.call.End(f) // whether it is sent again is up to the member
	} else if h.end != nil {
		h.end(f)
	}
}

// begun is an error if a call with this id has begun.
func (d *desk) begun(id int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, waits := d.waiting[id]
	_, runs := d.calls[id]
	if waits || runs {
		return fmt.Errorf("%w: call %d has begun", errFrame, id)
	}
	return nil
}

// fullError is the error of a call that is beyond the bounds of a member; nil if it is not.
func (d *desk) fullError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := &d.session.leader.most
	if held := d.session.held.Load(); held >= most.held {
		return fmt.Errorf("group: this process has %d calls in flight: the maximum is %d", held, most.held)
	}
	if len(d.waiting) < most.waiting && len(d.calls) < most.inFlight {
		return nil
	}
	return fmt.Errorf("group: key %q: this process has %d calls in flight and %d waiting: the maximum is %d and %d",
		d.key.name, len(d.calls), len(d.waiting), most.inFlight, most.waiting)
}

// ask admits a call now or, if it waits, when the guard does.
func (d *desk) ask(f *frame) error {
	if err := d.begun(f.id); err != nil {
		return err
	}
	if err := d.fullError(); err != nil {
		d.refuse(f.id, err)
		return nil
	}
	all := d.session.leader.ctx
	call, err := d.try(f)
	limited, isLimited := errors.AsType[*throttle.LimitedError](err)
	switch {
	case err == nil:
		d.grant(f.id, call, false)
	case all.Err() != nil: // the member finds the next leader
		return net.ErrClosed
	case isLimited && f.once:
		d.send(&frame{kind: kindRefuse, id: f.id, wait: limited.RetryAfter})
	case isLimited:
		ctx, cancel := context.WithCancel(all)
		d.mu.Lock()
		d.waiting[f.id] = cancel
		d.mu.Unlock()
		id, cost := f.id, f.cost
		d.session.leader.wg.Go(func() {
			defer cancel()
			d.wait(ctx, id, cost)
		})
	default:
		d.refuse(f.id, err)
	}
	return nil
}

// try asks for a call now. One that is larger than the share of a process that is
// alone takes all of that share: the limit that the user wrote has room for it.
func (d *desk) try(f *frame) (call *guard.Call, err error) {
	for {
		call = d.key.inside.Once(f.cost)
		_, err = call.Admit(d.session.leader.ctx)
		large, isLarge := errors.AsType[*throttle.CostError](err)
		if !isLarge || !d.session.leader.alone || large.Max >= large.Amount {
			return call, err
		}
		*[...]*int64{&f.cost.Requests, &f.cost.Tokens, &f.cost.Input, &f.cost.Output, &f.cost.Points}[large.Unit] = large.Max
	}
}

// wait has a call wait in the queue of the guard.
func (d *desk) wait(ctx context.Context, id int64, c throttle.Cost) {
	call := d.key.inside.Patient(c)
	_, err := call.Admit(ctx)
	switch {
	case err == nil:
		d.grant(id, call, true)
	case ctx.Err() == nil && d.awaited(id):
		d.refuse(id, err)
	}
}

// awaited ends the wait for a call; false if the member has withdrawn it.
func (d *desk) awaited(id int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.waiting[id]
	delete(d.waiting, id)
	return ok
}

// grant passes an admitted call to the member, unless that does not need it any more, or
// the term of the leader is over.
func (d *desk) grant(id int64, call *guard.Call, waited bool) {
	if d.session.leader.term.over(time.Now()) {
		d.session.link.fail(errTerm)
	}
	d.mu.Lock()
	wanted := !d.gone && d.session.link.reason() == nil
	if waited {
		_, ok := d.waiting[id]
		delete(d.waiting, id)
		wanted = wanted && ok
	}
	if wanted {
		d.calls[id] = held{call: call}
		d.session.held.Add(1)
	}
	d.mu.Unlock()
	if wanted {
		d.send(&frame{kind: kindGrant, id: id})
	} else {
		_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Unsent})
	}
}

// refuse reports to the member that the key is closed because of err, and then that the
// call is not admitted. A *throttle.CostError closes the key only to calls above its Max.
func (d *desk) refuse(id int64, err error) {
	wait := closedFor
	if d.key != nil {
		if closed := time.Until(d.key.inside.Closed()); closed > 0 {
			wait = closed
		}
	}
	f := frame{kind: kindClosed, key: d.number, id: id}
	d.session.link.sendJSON(f, closingOf(err, wait))
	d.send(&frame{kind: kindRefuse, id: id})
}

// closedFor is how long a key is closed for a member if its call cannot be
// admitted for another reason than that the provider has closed it.
const closedFor = time.Second

func (d *desk) withdraw(id int64) {
	d.mu.Lock()
	cancel := d.waiting[id]
	delete(d.waiting, id)
	d.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// take returns the call id, which is not in flight any more if over.
func (d *desk) take(id int64, over bool) held {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.calls[id]
	if over && ok {
		delete(d.calls, id)
		d.session.held.Add(-1)
	}
	return h
}

func (d *desk) meters(f *frame) {
	if h := d.take(f.id, false); h.call != nil {
		h.call.ApplyMeters(f.feedback.Meters)
	}
}

// carry counts a call that is in flight since before there was this leader.
func (d *desk) carry(f *frame) error {
	if err := d.begun(f.id); err != nil {
		return err
	}
	if err := d.fullError(); err != nil {
		return err
	}
	end := d.key.inside.Adopt(f.cost, time.Now().Add(-min(max(0, f.wait), longestCall)))
	d.mu.Lock()
	d.calls[f.id] = held{end: end}
	d.session.held.Add(1)
	d.mu.Unlock()
	return nil
}

// longestCall bounds the age of a call that is carried over.
const longestCall = 24 * time.Hour

// restore loads the share of what a member has saved in an earlier run, if nothing is known yet.
func (d *desk) restore(saved []byte) {
	if len(saved) == 0 {
		return
	}
	known, err := d.key.guard.Save()
	if err != nil || len(known) > 0 {
		return
	}
	if saved, err = d.spec.learned(saved, d.key.share); err == nil {
		_ = d.key.guard.Restore(saved) // the member has checked it
	}
}

// leave frees what the member holds. What became of its calls is not known.
func (d *desk) leave() {
	if d.key == nil {
		return
	}
	d.key.mu.Lock()
	delete(d.key.desks, d)
	d.key.used = time.Now()
	d.key.last = nil
	d.key.mu.Unlock()
	d.mu.Lock()
	d.gone = true
	waiting, calls := d.waiting, d.calls
	d.waiting, d.calls = nil, nil
	d.mu.Unlock()
	for _, cancel := range waiting {
		cancel()
	}
	for _, h := range calls {
		h.conclude(adaptive.Feedback{Verdict: adaptive.Transient})
	}
	d.key.agree()
}

func (d *desk) send(f *frame) {
	f.key = d.number
	d.session.link.send(f)
}

// closing is the data of kindClosed.
type closing struct {
	For   time.Duration `json:"for"`
	Quota bool          `json:"quota,omitempty"` // it is used up
	Hit   *rejection    `json:"hit,omitempty"`
	Large *excess       `json:"large,omitempty"`
	Text  string        `json:"text"`
}

// rejection is an adaptive.RateLimitHit that was given up.
type rejection struct {
	Kind       adaptive.Kind `json:"kind"`
	RetryAfter time.Duration `json:"retry_after"`
	Source     string        `json:"source"`
}

// excess is a throttle.CostError.
type excess struct {
	Unit   throttle.Unit   `json:"unit"`
	Amount int64           `json:"amount"`
	Max    int64           `json:"max"`
	Window throttle.Window `json:"window,omitzero"`
}

func closingOf(err error, wait time.Duration) closing {
	c := closing{For: wait, Text: bounded(textOf(err)), Quota: errors.Is(err, adaptive.ErrQuotaExhausted)}
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		c.Hit = &rejection{hit.Kind, hit.RetryAfter, hit.Source}
		if c.Text = ""; hit.Cause != nil {
			c.Text = bounded(textOf(hit.Cause))
		}
	}
	if e, ok := errors.AsType[*throttle.CostError](err); ok {
		c.Large = &excess{e.Unit, e.Amount, e.Max, e.Window}
	}
	return c
}

// err is what a member's calls fail with.
func (c *closing) err(name string) error {
	switch {
	case c.Quota:
		return &usedUpError{c.Text}
	case c.Hit != nil:
		hit := &adaptive.RateLimitHit{
			Kind: c.Hit.Kind, RetryAfter: c.Hit.RetryAfter, Source: c.Hit.Source, Scope: name, SentAt: time.Now(), GivenUp: true,
		}
		if c.Text != "" {
			hit.Cause = remoteError(c.Text)
		}
		return hit
	case c.Large != nil && c.Large.Unit < throttle.Units && c.Large.Amount > c.Large.Max:
		return &throttle.CostError{Limiter: name, Unit: c.Large.Unit, Amount: c.Large.Amount, Max: c.Large.Max, Window: c.Large.Window}
	}
	return remoteError(c.Text)
}

// usedUpError is adaptive.ErrQuotaExhausted with the text of the leader.
type usedUpError struct{ text string }

func (e *usedUpError) Error() string { return e.text }

func (e *usedUpError) Unwrap() error { return adaptive.ErrQuotaExhausted }
