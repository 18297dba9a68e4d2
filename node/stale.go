package node

import (
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/emit"

	"github.com/headrace/headrace/event"
)

// staleAfter is the age from which on a run says that it has resumed a result.
const staleAfter = 24 * time.Hour

// stale counts the resumed results that are old.
type stale struct {
	mu     sync.Mutex // guards everything below
	n      int64
	oldest time.Time
}

// note counts a result of a run that began at now.
func (s *stale) note(now, ended time.Time) {
	if now.Sub(ended) <= staleAfter {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.oldest.IsZero() || ended.Before(s.oldest) {
		s.oldest = ended
	}
}

func (s *stale) count() (n int64, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, s.oldest
}

func (r *resume[In]) tellStale(o event.Observer) {
	n, oldest := r.stale.count()
	if n == 0 || o == nil {
		return
	}
	e := event.New(time.Now(), event.JournalStale, r.name)
	e.To, e.Wait = float64(n), r.opened.Sub(oldest)
	e.Reason = fmt.Sprintf("%d results of run %q, node %q, were resumed although they are older than a day, the oldest from %s: "+
		"to have them made again, use another run name, or forget the run", n, r.part.Run, r.part.Node, oldest.Local().Format("2006-01-02 15:04"))
	emit.Send(o, e)
}
