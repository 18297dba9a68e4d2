package event

import (
	"context"
	"log/slog"
	"time"
)

// message is the same for all records: what varies is in attributes.
const message = "headrace event"

// SlogOption changes what [Slog] does.
type SlogOption func(*slogObserver)

// WithLevel chooses the level of each event. usual is the level that it has
// without this option. f must be safe for concurrent use; nil changes nothing.
func WithLevel(f func(e Event, usual slog.Level) slog.Level) SlogOption {
	return func(s *slogObserver) {
		if f != nil {
			s.level = f
		}
	}
}

// Slog returns an observer that writes one record an event to l; a nil l
// discards. The message is always "headrace event"; the record has the event's
// time, or the present if the event has none, and these attributes, each only
// where the event has it: kind, source, index, key, attempt, wait, from and to
// (both or none), reason, err. The attribute err holds the error itself, so
// that a ReplaceAttr function sees it. A [NetRequest] has these too: id, run, host,
// method, url, proto, status, first_byte, waited, where it has them, and sent, received, cached, reused. A
// [DownloadFetch] has target, requests, checksum, where it has them, and bytes, resumed. A
// [FlowProgress] has final, pending, done, resumed, failed, retries, rate, and total and eta if they are known. The events of
// tasks have task, queue and running, and queued, waited and called, where they have them.
//
// It is as fast and as safe for concurrent use as the handler of l: put a
// handler that may block behind [NewBuffer].
func Slog(l *slog.Logger, opts ...SlogOption) Observer {
	s := &slogObserver{handler: slog.DiscardHandler, level: func(_ Event, usual slog.Level) slog.Level { return usual }}
	if l != nil {
		s.handler = l.Handler()
	}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
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
	_ = s.handler.Handle(ctx, r) // there is nobody to tell
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
		as = append(as, slog.Duration("wait", e.Wait))
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

// defaultLevel returns the level at which [Slog] writes e:
//
//   - Error: a limiter closed, which somebody has to look after;
//   - Warn: a cut, a preset that is out of date, resumed results that are, a breaker that opened, an item that failed or was abandoned, a task that failed,
//     a node, flow, request or download that ended with an error;
//   - Info: a hit (there is one for every refused call, and headrace deals with
//     it), a recovery, a breaker that is half-open or closed, a node, flow or download
//     that ended well, the progress of a run, and kinds that this version does not know;
//   - Debug: starts, steps, items done, resumed and retried, tasks that did not fail, requests that ended without an error.
func defaultLevel(e Event) slog.Level {
	switch e.Kind {
	case LimiterClosed:
		return slog.LevelError
	case JournalStale, LimiterCut, LimiterStalePreset, BreakerOpened, ItemFailed, ItemAbandoned, TaskFailed:
		return slog.LevelWarn
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
