package event

import (
	"context"
	"log/slog"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// message is the same for all records: what varies is in attributes.
const message = "headrace event"

// SlogOption is a setting of [Slog].
type SlogOption func(*slogObserver)

// WithLevel sets the level of each event. usual is its level without this option.
// f must be safe for concurrent use; nil changes nothing.
func WithLevel(f func(e Event, usual slog.Level) slog.Level) SlogOption {
	return func(s *slogObserver) {
		if f != nil {
			s.level = f
		}
	}
}

// Slog returns an observer that writes one record an event to l; a nil l
// discards. The message is "headrace event"; kind and what else the event has are
// attributes. Durations are in milliseconds, and their names end in _ms. The
// attribute err holds the error itself, for ReplaceAttr. The attributes and
// levels are in docs/telemetry.md. If the handler of l may block, put it behind
// [NewBuffer]. Nil options are ignored.
func Slog(l *slog.Logger, opts ...SlogOption) Observer {
	s := &slogObserver{handler: slog.DiscardHandler, level: func(_ Event, usual slog.Level) slog.Level { return usual }}
	if l != nil {
		s.handler = l.Handler()
	}
	invalid.Options(nil, opts, s)
	return s
}

type slogObserver struct {
	handler slog.Handler
	level   func(e Event, usual slog.Level) slog.Level
}

func (s *slogObserver) Observe(e Event) {
	ctx, level := context.Background(), s.level(e, defaultLevel(e))
	if !s.handler.Enabled(ctx, level) {
		return
	}
	at := e.Time
	if at.IsZero() {
		at = time.Now()
	}
	r := slog.NewRecord(at, level, message, 0)
	r.AddAttrs(attrs(e)...)
	_ = s.handler.Handle(ctx, r) // there is no place to report the error
}

// attrs leaves out what the event does not have.
func attrs(e Event) []slog.Attr {
	as := make([]slog.Attr, 0, 10)
	as = append(as, slog.String("kind", string(e.Kind)))
	if e.Source != "" {
		as = append(as, slog.String("source", e.Source))
	}
	if e.Index >= 0 {
		as = append(as, slog.Int64("index", e.Index))
	}
	if e.Key != "" {
		as = append(as, slog.String("key", e.Key))
	}
	if e.Attempt != 0 {
		as = append(as, slog.Int("attempt", e.Attempt))
	}
	if e.Wait != 0 {
		as = append(as, milliseconds("wait", e.Wait))
	}
	if e.From != 0 || e.To != 0 {
		as = append(as, slog.Float64("from", e.From), slog.Float64("to", e.To))
	}
	if e.Reason != "" {
		as = append(as, slog.String("reason", e.Reason))
	}
	if e.Err != nil {
		as = append(as, slog.Any("err", e.Err))
	}
	if e.Request != nil {
		as = e.Request.attrs(as)
	}
	if e.Download != nil {
		as = e.Download.attrs(as)
	}
	if e.Progress != nil {
		as = e.Progress.attrs(as)
	}
	if e.Task != nil {
		as = e.Task.attrs(as)
	}
	return as
}

// milliseconds returns a duration as a number with the unit in its key: a JSON handler
// writes a slog.Duration as nanoseconds, without a unit.
func milliseconds(key string, d time.Duration) slog.Attr {
	return slog.Float64(key+"_ms", float64(d)/float64(time.Millisecond))
}

// defaultLevel returns the level at which [Slog] writes e. docs/telemetry.md has the table.
func defaultLevel(e Event) slog.Level {
	switch e.Kind {
	case LimiterClosed:
		return slog.LevelError
	case JournalStale, LimiterCut, LimiterStalePreset, BreakerOpened, ItemFailed, ItemAbandoned, TaskFailed:
		return slog.LevelWarn
	case LimiterChanged:
		if e.Err != nil {
			return slog.LevelError
		}
		return slog.LevelInfo
	case NodeFinished, FlowFinished, DownloadFetch:
		if e.Err != nil {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case NetRequest:
		if e.Err != nil {
			return slog.LevelWarn
		}
		return slog.LevelDebug
	case LimiterHit, LimiterRecovery, BreakerHalfOpen, BreakerClosed, FlowProgress:
		return slog.LevelInfo
	case NodeStarted, NodeInput, FlowStarted, FlowStep, ItemDone, ItemResumed, ItemRetry,
		TaskQueued, TaskStarted, TaskRetry, TaskCompleted, TaskCancelled:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}
