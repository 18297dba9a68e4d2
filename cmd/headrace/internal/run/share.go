package run

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// share makes the guard. The run stops if its store does not respond; waiting requests are left for the next run.
func (j *Job) share(stop context.CancelCauseFunc) (leave func() error, err error) {
	log := event.Slog(j.Log, event.WithLevel(level))
	var first atomic.Pointer[StopError]
	var told sync.Once
	tell := func() {
		if why := j.Alone(); why != "" {
			told.Do(func() {
				j.say(fmt.Sprintf("--share: %s: %s: for now, limits are not shared with other runs, and this run uses only its part of them", settings.WithoutPassword(j.Share), why))
			})
		}
	}
	j.guard, leave, err = j.Guard(func(_ time.Time, err error) error {
		if err == nil {
			return nil
		}
		problem := settings.Plain(err) + "; once it is available, resume the run"
		if damaged, ok := settings.Damaged(err); ok {
			problem = damaged + "; once these limits are removed, resume the run"
		}
		first.CompareAndSwap(nil, &StopError{Sharing, fmt.Sprintf("--share: %s cannot admit calls: %s", settings.WithoutPassword(j.Share), problem)})
		why := first.Load()
		stop(why)
		return why.left()
	}, event.Func(func(e event.Event) {
		if e.Kind == event.LimiterChanged && e.Err == nil && j.Share != "" { // for the events of the group; the run's observer receives the events of calls
			tell()
			emit.Send(log, e)
		}
	}))
	tell()
	return leave, err
}
