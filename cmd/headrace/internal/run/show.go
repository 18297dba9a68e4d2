package run

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/node"
)

// show displays the file as one unit, without the step that contains its requests.
func (j *Job) show(p event.Progress) {
	p.Nodes = nil
	p.Items.Abandoned = 0 // the next process handles them
	p.Items.Failed = max(0, p.Items.Failed-j.unfit.Load())
	p.Name = j.title()
	j.Display.Show(p)
	if j.Watch != nil {
		j.Watch(p)
	}
}

// level returns the log level of an event. Finding the limit is normal work and not a warning. Failures are
// in their file, and the reason for a stop is printed once at the end and not for each request.
func level(e event.Event, usual slog.Level) slog.Level {
	switch e.Kind { //nolint:exhaustive // other events have a level of their own
	case event.LimiterCut, event.LimiterHit, event.LimiterClosed, event.ItemFailed:
		return slog.LevelInfo
	case event.ItemAbandoned, event.NodeFinished, event.FlowFinished, event.NetRequest, event.JournalStale, event.JournalLeftover:
		return slog.LevelDebug
	}
	return usual
}

// every is the time between two snapshots.
func (j *Job) every() time.Duration {
	if j.Display.Mode() == console.TTY {
		return 250 * time.Millisecond
	}
	return time.Second
}

// observer displays and logs events. An error is logged without the body of the response.
func (j *Job) observer() event.Observer {
	log := event.Slog(j.Log, event.WithLevel(level))
	return event.Func(func(e event.Event) {
		switch e.Kind { //nolint:exhaustive // other events need no special handling
		case event.FlowProgress:
			return // the display already shows it
		case event.JournalLeftover:
			j.left.Store(int64(e.To))
		case event.JournalStale:
			j.stale.Store(int64(e.To))
		case event.ItemFailed:
			if unsent(e.Err) {
				j.unfit.Add(1)
				e.Kind, e.Err = event.ItemAbandoned, results.FailureOf(e.Err)
			}
		}
		if f := (*results.RecordedError)(nil); errors.As(e.Err, &f) {
			e.Err = f.RequestError
		} else if known := (*node.RecordedError)(nil); errors.As(e.Err, &known) {
			e.Err = results.FailureOf(e.Err)
		}
		emit.Send(log, e)
		emit.Send(j.Display, named(e))
	})
}

// named returns e with the name of its request: the line number if the line is invalid, or else the custom_id.
func named(e event.Event) event.Event {
	if e.Kind != event.ItemFailed {
		return e
	}
	e.Index = event.NoIndex
	if f := (*results.RequestError)(nil); errors.As(e.Err, &f) && f.Line > 0 {
		e.Source, e.Err = fmt.Sprintf("line %d", f.Line), errors.New(f.Message)
	} else if id, ok := strings.CutPrefix(e.Key, "="); ok {
		e.Source = id
	}
	return e
}
