package download

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/ended"
)

// session is one call: any number of requests for one file.
type session struct {
	*config
	client Doer
	req    *http.Request // the caller's
	theirs event.Observer

	part     *part
	meter    meter
	resumed  int64 // what an earlier call left and is still used
	best     int64 // the most that could be kept so far
	attempts int
	requests requestIDs
	begun    time.Duration
}

func (s *session) fetch() (result Result, err error) {
	s.begun = s.clock.Elapsed()
	if s.part, err = openPart(s.config); err != nil {
		return s.result(), s.fail(stepOpen, err)
	}
	defer s.part.close(false) //nolint:errcheck // only a panic leaves something to close
	s.meter = meter{session: s}
	if err := s.resume(); err != nil {
		return s.result(), err
	}
	if err := s.complete(); err != nil {
		failed := s.typed(err)
		failed.Kept, failed.noLater = s.part.leave(failed.spoilt)
		return s.result(), failed
	}
	s.meter.end()
	return s.result(), nil
}

// resume looks at what is there, and leaves it there if the context ends meanwhile.
func (s *session) resume() error {
	ctx := s.req.Context()
	err := s.part.resume(ctx, func() { s.resumed = s.part.have; s.meter.tick() })
	s.best, s.resumed = s.part.have, 0
	if s.part.resumable() {
		s.resumed = s.part.have
	}
	if err == nil {
		return nil
	}
	failed := s.fail(stepOpen, ended.Cause(ctx))
	failed.Kept, failed.noLater = s.part.vouched.Kept, s.part.close(false)
	return failed
}

func (s *session) result() Result {
	r := Result{Attempts: s.attempts, Requests: s.requests.all(), Resumed: s.resumed}
	if s.part != nil {
		r.Bytes = s.part.have
		r.Checksum = s.sum.text(s.part.hash.Sum(nil))
	}
	return r
}

// complete gets everything that is missing and publishes it.
func (s *session) complete() error {
	if err := s.getAll(); err != nil {
		return err
	}
	if err := s.sum.verify(s.part.hash.Sum(nil)); err != nil {
		return &Error{Step: stepVerify, cause: err, spoilt: true}
	}
	if err := s.part.publish(); err != nil {
		return s.fail(stepPublish, err)
	}
	return nil
}
