package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// share makes the guard. In an outage of its store requests wait. If it lasts too long the run stops, and they are left for
// the next run.
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
	o := &outage{maxWait: j.MaxWait}
	j.guard, leave, err = j.Guard(func(began time.Time, err error) (time.Duration, error) {
		again, news, failed := o.asked(began, time.Now(), err)
		share := settings.WithoutPassword(j.Share)
		if news != "" {
			j.say(fmt.Sprintf("--share: %s: %s", share, news))
		}
		if failed == "" {
			return again, nil
		}
		first.CompareAndSwap(nil, &StopError{Sharing, fmt.Sprintf("--share: %s cannot admit calls: %s", share, failed)})
		why := first.Load()
		stop(why)
		return 0, why.left()
	}, event.Func(func(e event.Event) {
		if e.Kind == event.LimiterChanged && e.Err == nil && j.Share != "" { // for the events of the group; the run's observer receives the events of calls
			tell()
			emit.Send(log, e)
		}
	}))
	tell()
	return leave, err
}

// againAfter is the time between two attempts to reach a store that does not respond.
const againAfter = time.Second

// outage watches whether the store responds. A store that has not responded before in this run has a wrong address, or is down:
// the run stops at once, as it does for a problem that does not pass by itself.
type outage struct {
	maxWait time.Duration

	mu       sync.Mutex // guards everything below
	answered bool       // ever
	since    time.Time  // the start of the outage; zero: there is none
	told     time.Time  // the last time that there was news
}

// asked is a settings.Asked: err is that of the store, asked at began. It returns how long all requests wait, and news of that, or why
// the run stops.
func (o *outage) asked(began, now time.Time, err error) (again time.Duration, news, failed string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.answered = true
		if began.After(o.since) { // what was asked before the outage says nothing about its end
			o.since = time.Time{}
		}
		return 0, "", ""
	}
	if o.since.IsZero() {
		o.since = now
	}
	gone := now.Sub(o.since)
	switch damaged, ok := settings.Damaged(err); {
	case ok:
		return 0, "", damaged + "; once these limits are removed, resume the run"
	case !o.answered || gone >= o.maxWait || settings.Lasting(err):
		return 0, "", settings.Plain(err) + "; once it is available, resume the run"
	}
	if o.told.IsZero() || now.Sub(o.told) >= newsEvery && gone == 0 {
		o.told = now
		news = fmt.Sprintf("%s. All requests wait until it admits calls again, for at most %s (--max-wait)", strings.TrimSuffix(settings.Plain(err), "."), o.maxWait)
	}
	return min(againAfter, o.maxWait-gone), news, ""
}
