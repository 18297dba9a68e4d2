package download

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/headrace/headrace/event"
)

const bufferSize = 64 << 10

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
		return &Error{Step: stepAnswer, cause: ErrTooLarge, spoilt: true}
	}
	if a.verdict == takeAll {
		s.resumed = 0
		if err := s.part.begin(a.validator, a.total); err != nil {
			return s.fail(stepWrite, err)
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
		return ask{total: -1, encoded: s.encoded}
	}
	return ask{from: s.part.have - 1, validator: s.part.validator, total: s.part.total, encoded: s.encoded}
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
				return s.failAgain(stepRead, errors.New("the body is longer than was declared"))
			}
		}
		if overlap && n > 0 {
			if chunk[0] != s.part.last {
				return errStale
			}
			chunk, overlap = chunk[1:], false
		}
		if s.maxBytes > 0 && int64(len(chunk)) > s.maxBytes-s.part.have {
			return &Error{Step: stepRead, cause: ErrTooLarge, spoilt: true}
		}
		if err := s.part.write(chunk); err != nil {
			return s.fail(stepWrite, err)
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
