package guard

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

const (
	// prompt is how long the end of a call waits for the store. What can be sent
	// twice is then sent again in the background.
	prompt = 250 * time.Millisecond
	// promptOnce is the same for what must not be sent twice: whether it has
	// arrived is not known.
	promptOnce = time.Second
	// resend is how often a store that does not answer, or fails, is tried.
	resend = time.Second
	// longestResend bounds for how long. The end of a lease is sent for no longer than leaseTime after an error: if the
	// store is down, the lease lapses by then, and otherwise it would be renewed all the time.
	longestResend = 15 * time.Minute
	// mostSenders is how many goroutines send in the background at once.
	mostSenders = 16
)

// letter is a message to the store after a call. Its error cannot be returned to a caller.
type letter struct {
	send   func(context.Context, quota.Store) error
	done   func()         // called once, without locks; nil: nothing to do
	once   []quota.Demand // not nil: it must not be sent twice; used to ask whether the store answers
	leased bool           // it ends a lease
	until  time.Duration  // it is dropped then; set when it is posted
	over   bool           // it is not sent, but dropped
	again  bool           // it has been sent, without an answer
}

// outbox sends letters. As long as the store answers, each is sent by the call
// that it belongs to. Once the store has not answered in time, letters wait for
// it here, and calls do not wait for them.
type outbox struct {
	share *share
	slow  atomic.Bool // the last letter was not answered in time

	mu      sync.Mutex // guards everything below
	waiting []*letter  // those that are over come first
	senders int
	resting bool // no sender is started before a timer has fired
	failed  bool // there was an error since the last one did
}

// deliver sends l now or, if the store does not answer, in the background.
func (o *outbox) deliver(l *letter) {
	if o.slow.Load() {
		o.post(l)
		return
	}
	within := prompt
	if l.once != nil {
		within = promptOnce
	}
	if answered, err := o.try(o.share.always, l, l.send, within); answered || l.once != nil {
		o.finish(l, err)
		return
	}
	l.again = true
	o.post(l)
}

// try sends once, for l. An error after the time is over is not an answer: the message may have arrived or not. What can be
// sent twice is sent again after any error that the store would not repeat, such as a connection that is refused.
func (o *outbox) try(ctx context.Context, l *letter, send func(context.Context, quota.Store) error, within time.Duration) (answered bool, err error) {
	returned := false
	defer func() {
		if !returned { // the store has ended the goroutine
			o.finish(l, errExited)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, within, inflight.ErrStoreSlow)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { o.slow.Store(true) }) // also if the store ignores ctx
	defer stop()
	err = guarded(ctx, o.share.store, send)
	returned = true
	if answered = err == nil || decided(err) || l.once != nil && ctx.Err() == nil; !answered {
		o.slow.Store(true)
	}
	return answered, err
}

// decided reports whether an error of a store is about the message, and not about the store, or the store is closed.
func decided(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, quota.ErrLeaseLost) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrClosed) ||
		errors.As(err, new(*fault.FieldError)) || errors.As(err, new(*fault.PanicError))
}

func guarded(ctx context.Context, s quota.Store, f func(context.Context, quota.Store) error) (err error) {
	defer panics.Catch(&err)
	return f(ctx, s)
}

func (o *outbox) finish(l *letter, err error) {
	if l.again && errors.Is(err, quota.ErrLeaseLost) {
		err = nil // the first one has arrived
	}
	if err != nil {
		o.share.unheard.Add(1)
	}
	if l.done != nil {
		l.done()
	}
}

func (o *outbox) post(l *letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.until = o.share.leases.clock.Elapsed() + longestResend
	o.waiting = append(o.waiting, l)
	o.startLocked()
}

// startLocked starts a sender if there is something for it to do.
func (o *outbox) startLocked() {
	if !o.resting && len(o.waiting) > 0 && o.senders < mostSenders {
		o.senders++
		go o.run()
	}
}

// run sends what waits until nothing does or the store does not answer.
func (o *outbox) run() {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit in the store
			o.mu.Lock()
			defer o.mu.Unlock()
			o.senders--
			o.startLocked()
		}
	}()
	o.sendAll()
	returned = true
}

func (o *outbox) sendAll() {
	for l := o.next(); l != nil; l = o.next() {
		if l.over {
			o.finish(l, inflight.ErrStoreSlow)
			continue
		}
		begun := o.share.leases.clock.Elapsed()
		if l.once != nil && o.slow.Load() && !o.answers(l) {
			o.back(l, false)
			return
		}
		answered, err := o.try(o.share.always, l, l.send, inflight.StoreTimeout)
		if !answered && l.once == nil {
			l.again = true
			o.back(l, o.share.leases.clock.Elapsed()-begun < inflight.StoreTimeout)
			return
		}
		if answered && o.share.leases.clock.Elapsed()-begun < prompt {
			o.slow.Store(false)
		}
		o.finish(l, err)
	}
}

// answers asks the store two things that change nothing. What a store knows
// without asking others, as it may the second, says nothing about them.
func (o *outbox) answers(l *letter) bool {
	answered, _ := o.try(o.share.always, l, func(ctx context.Context, s quota.Store) error {
		if _, err := s.Take(ctx, quota.Request{Demands: l.once, Lease: leaseTime, Peek: true}); err != nil {
			return err
		}
		return s.End(ctx, quota.Ticket{}, nil)
	}, inflight.StoreTimeout)
	return answered
}

// next returns the next letter for a sender, or nil, which ends the sender.
func (o *outbox) next() *letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 || o.resting {
		o.senders--
		return nil
	}
	l := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	o.startLocked()
	return l
}

// back keeps l for later, when a sender has had no answer, or an error if failed. The sender ends.
func (o *outbox) back(l *letter, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.senders--
	o.waiting = append(o.waiting, l)
	o.failed = o.failed || failed
	if !o.resting {
		o.resting = true
		o.share.leases.clock.AfterFunc(resend, o.rested)
	}
}

// rested gives up all letters that are over, and has the others sent.
func (o *outbox) rested() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.share.leases.clock.Elapsed()
	var over, rest []*letter
	for _, l := range o.waiting {
		if o.failed && l.leased {
			l.until = min(l.until, now+leaseTime)
		}
		if l.over = now >= l.until; l.over {
			over = append(over, l)
		} else {
			rest = append(rest, l)
		}
	}
	o.waiting = slices.Concat(over, rest)
	o.resting, o.failed = false, false
	o.startLocked()
}

// tellEnd reports to the store that the call of t has ended. actual is its cost, or nil if it is the reserved one.
func (s *share) tellEnd(t quota.Ticket, unsent bool, actual []throttle.Cost, done func()) {
	l := &letter{done: done, leased: t.Leased(), send: func(ctx context.Context, to quota.Store) error {
		if unsent {
			return to.Cancel(ctx, t)
		}
		return to.End(ctx, t, actual)
	}}
	if !l.leased { // it would be corrected twice
		l.once = t.Demands
	}
	s.outbox.deliver(l)
}

// cool has other processes pause too.
func (s *share) cool(d time.Duration) {
	until := s.leases.clock.Elapsed() + d
	s.outbox.deliver(&letter{send: func(ctx context.Context, to quota.Store) error {
		if left := until - s.leases.clock.Elapsed(); left > 0 {
			return to.Cooldown(ctx, s.key, left)
		}
		return nil
	}})
}
