package download

import (
	"errors"
	"io"
	"time"

	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/retry"
)

const (
	maxWait = 10 * time.Minute // a longer Retry-After is an error
	minGain = 1 << 20          // what an answer that is too short brings, or the next request waits
)

// errStale says that what is there is of no use; the next request asks for everything.
var errStale = errors.New("the server has another version, or does not support ranges")

// getAll makes requests until nothing is missing.
func (s *session) getAll() error {
	schedule := s.retry.Start()
	var last error // of the attempt before
	for {
		err := s.attempt()
		if ctx := s.req.Context(); ctx.Err() != nil && err != nil {
			return &Error{Step: s.typed(err).Step, cause: errors.Join(ended.Cause(ctx), last)}
		}
		if err == nil && s.part.whole() {
			return nil
		}
		if errors.Is(err, errStale) { // and everything is asked for next
			s.part.forget()
			continue
		}
		counting, gain := schedule, s.part.have-s.best
		if gain > 0 && s.part.resumable() { // the attempt does not count
			s.best = s.part.have
			schedule, counting = s.retry.Start(), s.retry.Start()
			if err == nil && gain >= minGain { // a server may send less than it was asked for
				continue
			}
		}
		if err == nil {
			err = s.failAgain(stepRead, io.ErrUnexpectedEOF)
		}
		if err := s.pause(counting, err); err != nil {
			return err
		}
		last = err
	}
}

// pause waits for the next attempt, or returns why there is no further attempt.
func (s *session) pause(schedule *retry.Schedule, err error) error {
	asked := retryAfter(err, s.clock.Now())
	if !s.typed(err).again || asked > maxWait {
		return err
	}
	delay, again := schedule.Next(err)
	if !again {
		return err
	}
	if s.wait(max(delay, asked)) != nil {
		return &Error{Step: s.typed(err).Step, cause: errors.Join(ended.Cause(s.req.Context()), err)}
	}
	return nil
}

// wait ends early with the context.
func (s *session) wait(d time.Duration) error {
	ctx := s.req.Context()
	over := make(chan struct{})
	timer := s.clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter is what the answer of a failed attempt asks for.
func retryAfter(err error, now time.Time) time.Duration {
	failed := statusError(err)
	if failed == nil {
		return 0
	}
	d, _ := retry.RetryAfter(failed.Header, now)
	return d
}
