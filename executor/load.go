package executor

import "github.com/headrace/headrace/event"

// Load returns what telemetry.Observer.WatchExecutors measures.
func (x *Executor) Load() event.Load {
	s := x.Stats()
	l := event.Load{
		Name: x.name, Pending: int(s.Tasks[Pending]), Queued: int(s.Tasks[Queued]),
		Processing: int(s.Tasks[Processing]), Calling: int(s.Tasks[Calling]),
		Slots: s.Slots, Concurrency: s.Concurrency,
	}
	for _, w := range x.guard.Stats().Windows {
		l.Windows = append(l.Windows, event.WindowLeft{Window: w.Window.String(), Unit: w.Window.Unit().String(), Left: w.Left})
	}
	return l
}
