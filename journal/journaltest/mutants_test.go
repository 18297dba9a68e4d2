package journaltest_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/journal/journaltest"
)

type (
	open    func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error)
	renew   func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, at time.Time) error
	release func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner) error
	begin   func(m journal.Memory, ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error)
	finish  func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error)
)

// mutant is the memory with one fault.
type mutant struct {
	journal.Memory
	open    open
	renew   renew
	release release
	begin   begin
	finish  finish
}

func (m *mutant) Open(ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
	if m.open != nil {
		return m.open(m.Memory, ctx, p, o, version, at)
	}
	return m.Memory.Open(ctx, p, o, version, at)
}

func (m *mutant) Renew(ctx context.Context, p journal.Part, o journal.Owner, at time.Time) error {
	if m.renew != nil {
		return m.renew(m.Memory, ctx, p, o, at)
	}
	return m.Memory.Renew(ctx, p, o, at)
}

func (m *mutant) Release(ctx context.Context, p journal.Part, o journal.Owner) error {
	if m.release != nil {
		return m.release(m.Memory, ctx, p, o)
	}
	return m.Memory.Release(ctx, p, o)
}

func (m *mutant) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if m.begin != nil {
		return m.begin(m.Memory, ctx, k, at, retry)
	}
	return m.Memory.Begin(ctx, k, at, retry)
}

func (m *mutant) Finish(ctx context.Context, p journal.Part, o journal.Owner, mark string, rs ...journal.Record) ([]journal.Record, error) {
	if m.finish != nil {
		return m.finish(m.Memory, ctx, p, o, mark, rs)
	}
	return m.Memory.Finish(ctx, p, o, mark, rs...)
}

var mutants = map[string]mutant{
	"the version is not compared": {open: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, _ string, at time.Time) (journal.Progress, error) {
		return m.Open(ctx, p, o, "v1", at)
	}},
	"opening a run again is no use of it": {open: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
		for run, err := range m.Runs(ctx) {
			if err == nil && run.Name == p.Run && run.Opened.Before(at) {
				at = run.Opened
			}
		}
		return m.Open(ctx, p, o, version, at)
	}},
	"a failed item is always tried again": {begin: func(m journal.Memory, ctx context.Context, k journal.Key, at time.Time, _ bool) (journal.Record, error) {
		return m.Begin(ctx, k, at, true)
	}},
	"a failed item is never tried again": {begin: func(m journal.Memory, ctx context.Context, k journal.Key, at time.Time, _ bool) (journal.Record, error) {
		return m.Begin(ctx, k, at, false)
	}},
	"occurrences are one": {begin: func(m journal.Memory, ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
		k.Occurrence = 0
		return m.Begin(ctx, k, at, retry)
	}},
	"a refusal is not told": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		_, err := m.Finish(ctx, p, o, mark, rs...)
		return nil, err
	}},
	"records are finished one by one": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) (refused []journal.Record, err error) {
		for _, r := range rs {
			no, err := m.Finish(ctx, p, o, mark, r)
			if err != nil {
				return nil, err
			}
			refused = append(refused, no...)
		}
		return refused, nil
	}},
	"an empty mark replaces one": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		refused, err := m.Finish(ctx, p, o, mark, rs...)
		if err == nil && mark == "" {
			_, err = m.Finish(ctx, p, o, " ")
		}
		return refused, err
	}},
	"what was not begun can be finished": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		for _, r := range rs {
			if r.Validate(p) == nil {
				_, _ = m.Begin(ctx, r.Key, time.Time{}, false)
			}
		}
		return m.Finish(ctx, p, o, mark, rs...)
	}},
	"done can be done again": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		refused, err := m.Finish(ctx, p, o, mark, rs...)
		var left []journal.Record
		for _, r := range refused {
			if r.State == journal.Failed {
				left = append(left, r)
			}
		}
		return left, err
	}},
	"a second run is let in": {open: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
		progress, err := m.Open(ctx, p, o, version, at)
		if held, ok := errors.AsType[*journal.HeldError](err); ok {
			_ = m.Release(ctx, p, held.Lease.Owner)
			return m.Open(ctx, p, o, version, at)
		}
		return progress, err
	}},
	"the version comes before the claim": {open: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
		progress, err := m.Open(ctx, p, o, version, at)
		if held, ok := errors.AsType[*journal.HeldError](err); ok {
			if _, err := m.Open(ctx, p, held.Lease.Owner, version, at); err != nil {
				return progress, err
			}
		}
		return progress, err
	}},
	"a claim lapses with each look": {open: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, version string, at time.Time) (journal.Progress, error) {
		_ = m.Release(ctx, p, o)
		return m.Open(ctx, p, o, version, at)
	}},
	"every run may release": {release: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner) error {
		if held, ok := errors.AsType[*journal.HeldError](m.Renew(ctx, p, o, time.Time{})); ok {
			o = held.Lease.Owner
		}
		return m.Release(ctx, p, o)
	}},
	"an owner that has lost a part may renew": {renew: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, at time.Time) error {
		if err := m.Renew(ctx, p, o, at); !errors.As(err, new(*journal.HeldError)) {
			return err
		}
		return nil
	}},
	"an owner that has lost a part may finish": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		if held, ok := errors.AsType[*journal.HeldError](m.Renew(ctx, p, o, time.Time{})); ok && held.Lease.Owner.ID != "" {
			o = held.Lease.Owner
		}
		return m.Finish(ctx, p, o, mark, rs...)
	}},
	"a mark is of what comes with it": {finish: func(m journal.Memory, ctx context.Context, p journal.Part, o journal.Owner, mark string, rs []journal.Record) ([]journal.Record, error) {
		refused, err := m.Finish(ctx, p, o, mark, rs...)
		if err == nil && mark != "" {
			_, err = m.Finish(ctx, p, o, mark)
		}
		return refused, err
	}},
}

var which = flag.String("mutant", "", "the journal to test")

// TestMutant fails: TestTheSuiteFindsFaults runs it in processes of its own.
func TestMutant(t *testing.T) {
	m, ok := mutants[*which]
	if !ok {
		t.Skip("only for TestTheSuiteFindsFaults")
	}
	journaltest.Test(t, func(*testing.T) journaltest.Storage {
		return journaltest.Storage{Open: func() (journal.Journal, error) {
			one := m
			one.Memory = journal.NewMemory()
			return &one, nil
		}}
	})
}

func TestTheSuiteFindsFaults(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), self, "-test.run", "^TestMutant$", "-mutant", name).CombinedOutput()
			require.Error(t, err, "the suite passes")
			assert.True(t, strings.Contains(string(out), "--- FAIL: TestMutant/"), "%s", out)
		})
	}
}
