package download

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/retry"
)

const (
	bufferSize = 64 << 10
	maxWait    = 10 * time.Minute // a longer Retry-After is an error
)

// errStale says that what is there is of no use; the next request asks for everything.
var errStale = errors.New("the server has another version, or no ranges")

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
		return s.result(), s.fail(StepOpen, err)
	}
	defer s.part.close(false) //nolint:errcheck // only a panic leaves something to close
	s.best = s.part.have
	if s.part.resumable() {
		s.resumed = s.part.have
	}
	s.meter = meter{session: s}
	if err := s.complete(); err != nil {
		failed := s.typed(err)
		failed.Kept, failed.noLater = s.part.leave(failed.spoilt)
		return s.result(), failed
	}
	s.meter.end()
	return s.result(), nil
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
		return &Error{Step: StepVerify, cause: err, spoilt: true}
	}
	if err := s.part.publish(); err != nil {
		return s.fail(StepPublish, err)
	}
	return nil
}

func (s *session) getAll() error {
	schedule := s.retry.Start()
	for {
		err := s.attempt()
		if ctx := s.req.Context(); ctx.Err() != nil && err != nil {
			return &Error{Step: s.typed(err).Step, cause: ended(ctx)}
		}
		progress := s.part.resumable() && s.part.have > s.best
		switch {
		case err == nil && s.part.whole():
			return nil
		case errors.Is(err, errStale): // and everything is asked for next
			s.part.forget()
			continue
		case err == nil && progress: // a server may send less than it was asked for
		case err == nil:
			err = s.failAgain(StepRead, io.ErrUnexpectedEOF)
		}
		counting := schedule
		if progress { // the attempt does not count
			s.best = s.part.have
			schedule, counting = s.retry.Start(), s.retry.Start()
		}
		if err == nil {
			continue
		}
		if !s.typed(err).again {
			return err
		}
		delay, again := counting.Next(err)
		if delay = max(delay, retryAfter(err, s.clock.Now())); !again || delay > maxWait {
			return err
		}
		if s.wait(delay) != nil {
			return &Error{Step: s.typed(err).Step, cause: errors.Join(ended(s.req.Context()), err)}
		}
	}
}

// attempt makes one request and takes what it brings.
func (s *session) attempt() error {
	s.attempts++
	asked := s.ask()
	resp, err := s.client.Do(s.outgoing(asked))
	if err != nil {
		return s.refused(err)
	}
	defer resp.Body.Close()
	a, err := judge(resp, asked)
	if err != nil {
		return s.rejected(err)
	}
	if a.verdict == startOver {
		return errStale
	}
	if s.maxBytes > 0 && a.total > s.maxBytes {
		return &Error{Step: StepAnswer, cause: ErrTooLarge, spoilt: true}
	}
	if a.verdict == takeAll {
		s.resumed = 0
		if err := s.part.begin(a.validator, a.total); err != nil {
			return s.fail(StepWrite, err)
		}
	}
	s.part.total = a.total
	if err := s.receive(resp.Body, a); err != nil {
		return err
	}
	if s.part.total < 0 {
		s.part.total = s.part.have
	}
	return nil
}

// ask asks for the last byte again: a file that is there whole is then answered
// like any other, and not by a 416, which names no version.
func (s *session) ask() ask {
	if !s.part.resumable() {
		return ask{total: -1}
	}
	return ask{from: s.part.have - 1, validator: s.part.validator, total: s.part.total}
}

func (s *session) outgoing(asked ask) *http.Request {
	ctx := event.With(s.req.Context(), &s.requests)
	out := s.req.Clone(ctx)
	if out.Header == nil {
		out.Header = make(http.Header, 3)
	}
	out.Header.Set("Accept-Encoding", "identity") // lengths and ranges then mean bytes of the file
	if asked.from > 0 {
		out.Header.Set("Range", "bytes="+strconv.FormatInt(asked.from, 10)+"-")
		out.Header.Set("If-Range", string(asked.validator))
	}
	return out
}

// receive writes the body down.
func (s *session) receive(body io.Reader, a answer) error {
	buf := make([]byte, bufferSize)
	overlap := a.verdict == takeRest
	left := a.length
	for {
		n, err := body.Read(buf)
		chunk := buf[:n]
		if a.length >= 0 {
			if left -= int64(n); left < 0 {
				return s.failAgain(StepRead, errors.New("the body is longer than was declared"))
			}
		}
		if overlap && n > 0 {
			if chunk[0] != s.part.last {
				return errStale
			}
			chunk, overlap = chunk[1:], false
		}
		if s.maxBytes > 0 && int64(len(chunk)) > s.maxBytes-s.part.have {
			return &Error{Step: StepRead, cause: ErrTooLarge, spoilt: true}
		}
		if err := s.part.write(chunk); err != nil {
			return s.fail(StepWrite, err)
		}
		s.meter.tick()
		switch {
		case err == io.EOF: // what is missing is asked for next
			return nil
		case err != nil:
			return s.broken(err)
		}
	}
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

// ended says why ctx did: its cause, which need not be what errors.Is looks for.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return errors.Join(ctx.Err(), cause)
}

// requestIDs collects the ids under which a client tells of its requests.
type requestIDs struct {
	mu  sync.Mutex // guards ids
	ids []string
}

// Observe implements event.Observer.
func (r *requestIDs) Observe(e event.Event) {
	if e.Kind != event.NetRequest || e.Request == nil || e.Request.ID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids, e.Request.ID)
}

func (r *requestIDs) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.ids...)
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
