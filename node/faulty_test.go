package node_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

var errDisk = errors.New("disk full")

// faulty is a journal with operations that fail with the error that on returns, which is called
// before each of them.
type faulty struct {
	journal.Memory

	on          func(op string) error
	renewWithin time.Duration // 0: claims do not lapse

	mu       sync.Mutex // guards everything below
	finished [][]journal.Record
	marks    []string
	saved    []journal.Law
}

func newFaulty(on func(op string) error) *faulty {
	return &faulty{Memory: journal.NewMemory(), on: on}
}

func (f *faulty) fault(op string) error {
	if f.on == nil {
		return nil
	}
	return f.on(op)
}

func (f *faulty) Open(ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
	if err := f.fault("open"); err != nil {
		return journal.Progress{}, err
	}
	progress, err := f.Memory.Open(ctx, p, o, version, at)
	progress.RenewWithin = f.renewWithin
	return progress, err
}

func (f *faulty) Renew(ctx context.Context, p journal.Part, o journal.Owner, at time.Time) error {
	if err := f.fault("renew"); err != nil {
		return err
	}
	return f.Memory.Renew(ctx, p, o, at)
}

func (f *faulty) Release(ctx context.Context, p journal.Part, o journal.Owner) error {
	if err := f.fault("release"); err != nil {
		return err
	}
	return f.Memory.Release(ctx, p, o)
}

func (f *faulty) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if err := f.fault("begin"); err != nil {
		return journal.Record{}, err
	}
	return f.Memory.Begin(ctx, k, at, retry)
}

// errAfter has the operation done, and then fail.
var errAfter = errors.New("it was done, but nobody heard of it")

func (f *faulty) Finish(ctx context.Context, p journal.Part, o journal.Owner, mark string, records ...journal.Record) ([]journal.Record, error) {
	fault := f.fault("finish")
	if fault != nil && !errors.Is(fault, errAfter) {
		return nil, fault
	}
	refused, err := f.Memory.Finish(ctx, p, o, mark, records...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished, f.marks = append(f.finished, records), append(f.marks, mark)
	if fault != nil {
		return nil, fault
	}
	return refused, err
}

func (f *faulty) SaveLaw(ctx context.Context, limiter string, saved journal.Law) error {
	if err := f.fault("save"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = append(f.saved, saved)
	return f.Memory.SaveLaw(ctx, limiter, saved)
}

func (f *faulty) LoadLaw(ctx context.Context, limiter string) (journal.Law, error) {
	if err := f.fault("load"); err != nil {
		return journal.Law{}, err
	}
	return f.Memory.LoadLaw(ctx, limiter)
}

// tracked is a sink that remembers what it got, and goes wrong as on says.
type tracked struct {
	on func() error

	mu  sync.Mutex // guards got
	got []node.Result[int, int]
}

func (s *tracked) Write(_ context.Context, results []node.Result[int, int]) error {
	if s.on != nil {
		if err := s.on(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, results...)
	return nil
}

func (s *tracked) results() []node.Result[int, int] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// always goes wrong in the same way.
func always(op string, fault func() error) func(string) error {
	return func(got string) error {
		if got == op {
			return fault()
		}
		return nil
	}
}
