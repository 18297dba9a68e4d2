package download

import (
	"slices"
	"sync"

	"github.com/headrace/headrace/event"
)

// maxIDs bounds what a call remembers of its requests.
const maxIDs = 100

// requestIDs collects the latest request IDs of a client's events.
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
	if len(r.ids) == maxIDs {
		r.ids = slices.Delete(r.ids, 0, 1)
	}
	r.ids = append(r.ids, e.Request.ID)
}

func (r *requestIDs) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.ids...)
}
