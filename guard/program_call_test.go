package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// call makes one call and checks how it ends.
func (p *played) call(ctx context.Context, c planned, outermost bool) {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	var joined []*guard.Guard
	for _, g := range c.guards {
		joined = append(joined, p.guards[g])
	}
	g := guard.Join(joined...)
	if c.line > 0 {
		ctx, _ = p.lines.With(ctx, line.Caller{Client: strconv.Itoa(c.line), Priority: line.Priority(c.line % 2)})
	}
	attempts := c.fates
	asked, sent := time.Now(), false
	p.count()
	fn := func(ctx context.Context) error {
		if c.how == byTry && !time.Now().Equal(asked) {
			p.report("Try has waited for %s", time.Since(asked))
		}
		sent = true
		next := succeeds
		if len(attempts) > 0 {
			next, attempts = attempts[0], attempts[1:]
		}
		return p.attempt(ctx, c, next, outermost)
	}
	cost, err := throttle.Cost{}, error(nil)
	switch c.how {
	case byDo, ways:
		err = g.Do(ctx, cost, fn)
	case byTry:
		err = g.Try(ctx, cost, fn)
		if !sent {
			p.checkRefusal(asked, err)
		}
	case byCall:
		err = inParts(ctx, g.Begin(cost), fn)
	}
	if err == nil && !sent {
		p.report("a call of which nothing was sent ended without an error")
	}
	if c.line > 0 && (errors.As(err, new(*line.FullError)) || errors.As(err, new(*line.WaitError))) {
		return
	}
	class := guardtest.ClassOf(err)
	known := []string{"done", "panic", "hung", "quota exhausted", "too late", "deadline", "cancelled", "rate limit"}
	if !slices.Contains(known, class) && !strings.HasPrefix(class, "status ") && !strings.HasPrefix(class, "limited for ") {
		p.report("a call ended with %v", err)
	}
}

// count counts a call or a change that begins.
func (p *played) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
}

// checkRefusal checks the refusal of a Try that was made at asked: it comes at
// once, and not if there is nothing but this call.
func (p *played) checkRefusal(asked time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !time.Now().Equal(asked) {
		p.problem("Try was refused after %s", time.Since(asked))
	}
	if p.begun == 1 {
		p.problem("the only call was refused: %v", err)
	}
}

var errNotSent = fmt.Errorf("not sent: %w", &guardtest.StatusError{Status: 500})

// inParts makes a call by Begin, Admit and End.
func inParts(ctx context.Context, c *guard.Call, fn func(context.Context) error) error {
	for {
		attempt, err := c.Admit(ctx)
		if err != nil {
			return err
		}
		f := adaptive.Feedback{Err: survived(attempt, fn)}
		if errors.Is(f.Err, errNotSent) {
			f.Verdict = adaptive.Unsent
		}
		again, err := c.End(f)
		if !again {
			return err
		}
	}
}

// survived turns a panic of fn into an error.
func survived(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &guardtest.StatusError{Status: 500}
		}
	}()
	return fn(ctx)
}

// attempt is one attempt of c. One that makes calls itself sends nothing.
func (p *played) attempt(ctx context.Context, c planned, f fate, outermost bool) error {
	for _, one := range c.inside {
		p.call(ctx, one, false)
	}
	if f == isNotSent && c.how == byCall {
		return errNotSent
	}
	leave := func() {}
	if len(c.inside) == 0 {
		leave = p.enter(c, outermost)
	}
	work := ctx
	if f == isDeaf { // it holds nothing any more once it may be abandoned
		defer context.AfterFunc(ctx, leave)()
		work = context.WithoutCancel(ctx)
	}
	if f == isAbandoned {
		leave()
		inflight.Of(ctx).Abandon(nil)
	}
	defer leave()
	timer := time.NewTimer(c.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-work.Done():
		return context.Cause(ctx)
	}
	switch f {
	case fails, isNotSent:
		return &guardtest.StatusError{Status: 500}
	case isRejected, isAbandoned:
		return &adaptive.RateLimitHit{RetryAfter: c.takes}
	case isOverloaded:
		return &guardtest.StatusError{Status: 529}
	case findsTheQuotaUsedUp:
		return &guardtest.StatusError{Status: 402}
	case panics:
		panic(&adaptive.RateLimitHit{})
	case succeeds, isDeaf, fates:
	}
	return nil
}

// enter counts a call that is sent, and checks that no limit is exceeded.
func (p *played) enter(c planned, outermost bool) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	layers := p.layersOf(c.guards)
	for _, l := range layers {
		p.inFlight[l]++
		most := p.most[l]
		if p.changed[l].Equal(time.Now()) { // it may have been admitted before
			most = wider(most, p.before[l])
		}
		fresh := outermost || p.changed[l].IsZero() // otherwise the slot may be from before a change
		if fresh && most > 0 && p.inFlight[l] > most {
			p.problem("%d calls of %d are in flight on guard %d after %s", p.inFlight[l], most, l, time.Since(p.begin))
		}
		if outermost {
			p.sent[l] = append(p.sent[l], time.Since(p.begin))
		}
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range layers {
			p.inFlight[l]--
		}
	})
}
