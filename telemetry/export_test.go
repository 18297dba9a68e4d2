package telemetry

// Load is an executor that is always the same.
type Load struct {
	Name                                 string
	Pending, Queued, Processing, Calling int
	Slots, Concurrency                   int
	Windows                              []WindowLeft
}

// WindowLeft is what is left of one of its windows.
type WindowLeft struct {
	Window, Unit string
	Left         int64
}

func (l *Load) load() load {
	to := load{
		name: l.Name, pending: l.Pending, queued: l.Queued, processing: l.Processing, calling: l.Calling,
		slots: l.Slots, concurrency: l.Concurrency,
	}
	for _, w := range l.Windows {
		to.windows = append(to.windows, windowLeft{w.Window, w.Unit, w.Left})
	}
	return to
}

// WatchLoads is WatchExecutors for what is said to be their load.
func (o *Observer) WatchLoads(of ...*Load) (stop func()) {
	all := make([]pool, 0, len(of))
	for _, l := range of {
		all = append(all, l)
	}
	return o.pools.watch(all...)
}
