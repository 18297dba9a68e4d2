package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// trial is a call that does not wait, with where its answer goes.
type trial struct {
	cost   throttle.Cost
	answer chan<- error
}

// tryTimeout bounds how long a call that does not wait is asked for.
const tryTimeout = time.Second

var errNoAnswer = errors.New("group: no answer")

// Try is called by package guard for a call that does not wait.
func (s *seat) Try(ctx context.Context, c throttle.Cost) (done func(), err error) {
	answer := make(chan error, 1)
	var id int64
	s.inside.Update(func(time.Time) {
		switch {
		case s.link == nil || len(s.trials) >= mostTrials:
			answer <- s.limited(tryTimeout)
		default:
			id = s.next()
			s.trials[id] = trial{c, answer}
			s.send(&frame{kind: kindAsk, id: id, cost: c, once: true})
		}
	})
	timer := time.NewTimer(tryTimeout)
	defer timer.Stop()
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = fmt.Errorf("%w: %w", errNoAnswer, s.limited(tryTimeout))
	}
	end := func() {
		s.inside.Update(func(time.Time) {
			delete(s.trials, id)
			s.grants = slices.DeleteFunc(s.grants, func(g grant) bool {
				if g.id == id {
					s.unsent(id)
				}
				return g.id == id
			})
		})
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// mostTrials bounds how many calls that do not wait are asked for at once.
const mostTrials = 1 << 10

func (s *seat) limited(after time.Duration) error {
	after = min(max(1, after), reopening.MostSaid)
	return &throttle.LimitedError{
		Limiter: s.policy.Name, RetryAfter: after, Bound: throttle.Bound{Kind: throttle.BoundByGovernor, Wait: after},
	}
}
