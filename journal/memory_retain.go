package journal

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"
)

// Runs implements Retainer.
func (m *memory) Runs(ctx context.Context) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		runs, err := m.runs(ctx)
		if err != nil {
			yield(Run{}, err)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(runs)) {
			if !yield(*runs[name], nil) {
				return
			}
		}
	}
}

func (m *memory) runs(ctx context.Context) (map[string]*Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usableLocked(ctx); err != nil {
		return nil, err
	}
	runs := map[string]*Run{}
	for p, of := range m.parts {
		run := runs[p.Run]
		if run == nil {
			run = &Run{Name: p.Run, Opened: of.opened}
			runs[p.Run] = run
		}
		of.addTo(run)
	}
	return runs, nil
}

func (p *part) addTo(run *Run) {
	if p.opened.Before(run.Opened) {
		run.Opened = p.opened
	}
	run.Changed = latest(run.Changed, p.changed)
	at := p.progress()
	run.Pending += at.Pending
	run.Done += at.Done
	run.Failed += at.Failed
	for _, r := range p.records {
		if r.State == Done {
			run.Bytes += int64(len(r.Value))
		}
	}
}

// Forget implements Retainer.
func (m *memory) Forget(ctx context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgetLocked(ctx, run)
}

// ForgetUnchanged implements Retainer.
func (m *memory) ForgetUnchanged(ctx context.Context, run string, t time.Time) (forgotten bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, of := range m.parts {
		if p.Run != run {
			continue
		}
		if forgotten = of.changed.Before(t); !forgotten {
			break
		}
	}
	if !forgotten {
		return false, m.usableLocked(ctx)
	}
	err = m.forgetLocked(ctx, run)
	return err == nil, err
}

func (m *memory) forgetLocked(ctx context.Context, run string) error {
	if err := m.usableLocked(ctx); err != nil {
		return err
	}
	for p, of := range m.parts {
		if p.Run == run && of.lease.Excludes(Owner{}, time.Now(), 0) {
			return of.lease.Refuse(p, 0)
		}
	}
	maps.DeleteFunc(m.parts, func(p Part, _ *part) bool { return p.Run == run })
	return nil
}
