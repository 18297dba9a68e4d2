package download

import (
	"path/filepath"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// tell emits the one event of a call, to the observer of the option first and then to those of the request.
func (s *session) tell(r Result, err error) {
	if s.observer == nil && s.theirs == nil {
		return
	}
	e := event.New(s.clock.Now(), event.DownloadFetch, s.req.URL.Host)
	e.Attempt, e.Wait, e.Err = r.Attempts, s.clock.Elapsed()-s.begun, err
	e.Download = &event.Download{
		Target: filepath.Base(s.target), Requests: r.Requests,
		Bytes: r.Bytes, Resumed: r.Resumed,
	}
	if err == nil {
		e.Download.Checksum = r.Checksum
	}
	emit.Send(emit.Except(s.observer, s.theirs), e)
	emit.Send(s.theirs, e)
}
