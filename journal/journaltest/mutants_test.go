package journaltest_test

import (
	"context"
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

// mutant is the memory with one fault.
type mutant struct {
	*journal.Memory
	open   func(m *journal.Memory, ctx context.Context, p journal.Part, version string, at time.Time) (journal.Progress, error)
	begin  func(m *journal.Memory, ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error)
	finish func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) ([]journal.Record, error)
}

func (m *mutant) Open(ctx context.Context, p journal.Part, version string, at time.Time) (journal.Progress, error) {
	if m.open != nil {
		return m.open(m.Memory, ctx, p, version, at)
	}
	return m.Memory.Open(ctx, p, version, at)
}

func (m *mutant) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if m.begin != nil {
		return m.begin(m.Memory, ctx, k, at, retry)
	}
	return m.Memory.Begin(ctx, k, at, retry)
}

func (m *mutant) Finish(ctx context.Context, p journal.Part, mark string, rs ...journal.Record) ([]journal.Record, error) {
	if m.finish != nil {
		return m.finish(m.Memory, ctx, p, mark, rs)
	}
	return m.Memory.Finish(ctx, p, mark, rs...)
}

var mutants = map[string]mutant{
	"the version is not compared": {open: func(m *journal.Memory, ctx context.Context, p journal.Part, _ string, at time.Time) (journal.Progress, error) {
		return m.Open(ctx, p, "v1", at)
	}},
	"who opens a run again does not use it": {open: func(m *journal.Memory, ctx context.Context, p journal.Part, version string, at time.Time) (journal.Progress, error) {
		for run, err := range m.Runs(ctx) {
			if err == nil && run.Name == p.Run && run.Opened.Before(at) {
				at = run.Opened
			}
		}
		return m.Open(ctx, p, version, at)
	}},
	"a failed item is always tried again": {begin: func(m *journal.Memory, ctx context.Context, k journal.Key, at time.Time, _ bool) (journal.Record, error) {
		return m.Begin(ctx, k, at, true)
	}},
	"a failed item is never tried again": {begin: func(m *journal.Memory, ctx context.Context, k journal.Key, at time.Time, _ bool) (journal.Record, error) {
		return m.Begin(ctx, k, at, false)
	}},
	"occurrences are one": {begin: func(m *journal.Memory, ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
		k.Occurrence = 0
		return m.Begin(ctx, k, at, retry)
	}},
	"a refusal is not told": {finish: func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) ([]journal.Record, error) {
		_, err := m.Finish(ctx, p, mark, rs...)
		return nil, err
	}},
	"records are finished one by one": {finish: func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) (refused []journal.Record, err error) {
		for _, r := range rs {
			no, err := m.Finish(ctx, p, mark, r)
			if err != nil {
				return nil, err
			}
			refused = append(refused, no...)
		}
		return refused, nil
	}},
	"an empty mark replaces one": {finish: func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) ([]journal.Record, error) {
		refused, err := m.Finish(ctx, p, mark, rs...)
		if err == nil && mark == "" {
			_, err = m.Finish(ctx, p, " ")
		}
		return refused, err
	}},
	"what was not begun can be finished": {finish: func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) ([]journal.Record, error) {
		for _, r := range rs {
			if r.Validate(p) == nil {
				_, _ = m.Begin(ctx, r.Key, time.Time{}, false)
			}
		}
		return m.Finish(ctx, p, mark, rs...)
	}},
	"done can be done again": {finish: func(m *journal.Memory, ctx context.Context, p journal.Part, mark string, rs []journal.Record) ([]journal.Record, error) {
		refused, err := m.Finish(ctx, p, mark, rs...)
		var left []journal.Record
		for _, r := range refused {
			if r.State == journal.Failed {
				left = append(left, r)
			}
		}
		return left, err
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
