package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// lines is a logger that keeps what it was given.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(text string, more ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text+" "+fmt.Sprint(more...))
}

func (l *lines) Debug(string, ...any)        {}
func (l *lines) Info(string, ...any)         {}
func (l *lines) Warn(text string, m ...any)  { l.add(text, m...) }
func (l *lines) Error(text string, m ...any) { l.add(text, m...) }
func (l *lines) with(parts ...string) (n int) { // lines that have all parts
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		missing := false
		for _, part := range parts {
			missing = missing || !strings.Contains(line, part)
		}
		if !missing {
			n++
		}
	}
	return n
}

// ledger counts the calls for each item.
type ledger struct {
	mu    sync.Mutex
	calls map[string]int
	total int

	begun   chan struct{} // closed at the call number at
	at      int
	release chan struct{} // calls from number at on wait for it
}

func newLedger(at int) *ledger {
	return &ledger{calls: map[string]int{}, at: at, begun: make(chan struct{}), release: make(chan struct{})}
}

func (l *ledger) size(ctx context.Context, s string) (int, error) {
	l.mu.Lock()
	l.calls[s]++
	l.total++
	total := l.total
	l.mu.Unlock()
	if total == l.at {
		close(l.begun)
	}
	if total >= l.at {
		select {
		case <-l.release:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return len(s), nil
}

func (l *ledger) counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	maps.Copy(all, l.calls)
	return all
}

type sizes struct {
	Words []string
	Sizes []int
}

func someWords(n int) (s sizes) {
	for i := range n {
		s.Words = append(s.Words, fmt.Sprintf("%0*d", 3+i%5, i))
	}
	return s
}

func (s *sizes) want() (all []int) {
	for _, word := range s.Words {
		all = append(all, len(word))
	}
	return all
}

func (s *sizes) once() map[string]int {
	all := map[string]int{}
	for _, word := range s.Words {
		all[word] = 1
	}
	return all
}

func measure(l *ledger, parallel int) *flow.Flow[*sizes] {
	return flow.New("measure", node.Each("sizes", func(s *sizes) []string { return s.Words }, l.size,
		func(s *sizes, n []int) { s.Sizes = n }).WithParallel(parallel))
}

// A worker with another version joins the queue, and the one that has begun the run is replaced by one of its version with
// another WithParallel: the run ends with all results, and no item is called twice.
func TestServerFinishesARunWhileAnotherVersionIsDeployed(t *testing.T) {
	s := started(t)
	const many, first = 40, 10
	var (
		l      = newLedger(first)
		input  = someWords(many)
		o      = temporal.Options{Namespace: s.Namespace, Store: temporal.Dir(t.TempDir()), Slots: 2}
		c      = dialed(t, s, quiet{})
		ended  = make(chan error, 1)
		result *sizes
	)
	old, err := temporal.NewWorker(c, o, measure(l, 4))
	require.NoError(t, err)
	require.NoError(t, old.Start())
	go func() {
		var err error
		result, err = temporal.Run(context.WithoutCancel(t.Context()), c, measure(l, 7), &sizes{Words: input.Words}, o)
		ended <- err
	}()
	<-l.begun // both slots of the old worker are in a call, and two items wait for a slot

	log := &lines{}
	changed := newLedger(1)
	working(t, dialed(t, s, log), o, measure(changed, 4).Then(node.Do("more", func(context.Context, *sizes) error { return nil })))
	stopped := make(chan struct{})
	go func() { old.Stop(); close(stopped) }()
	require.Eventually(t, func() bool { return log.with("does not work on a run") > 0 }, 30*time.Second, 50*time.Millisecond,
		"the new worker is given items")
	close(l.release)
	<-stopped
	require.Eventually(t, func() bool { return log.with("Workflow panic") > 0 }, 60*time.Second, 50*time.Millisecond,
		"the new worker is given workflow tasks")
	working(t, c, o, measure(l, 2))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(3 * time.Minute):
		t.Fatal("the run does not end")
	}
	assert.Equal(t, input.want(), result.Sizes)
	assert.Equal(t, input.once(), l.counts())
	assert.Empty(t, changed.counts())
	assert.Equal(t, 1, log.with("does not work on a run"), "once for a version, however many items")
	fingerprint := func(n any) string {
		p, err := engine.New(n)
		require.NoError(t, err)
		return p.Fingerprint()
	}
	assert.Positive(t, log.with("Workflow panic", engine.ErrDiffers.Error(), fingerprint(measure(l, 4))))
	t.Log(log.with("Workflow panic"), "workflow tasks were given back")
}

// What is left in a store, without the folders.
func left(t *testing.T, o *temporal.Options) (all []string) {
	t.Helper()
	dir, ok := o.Store.(temporal.Dir)
	require.True(t, ok)
	require.NoError(t, fs.WalkDir(os.DirFS(string(dir)), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// A run has one result, however often and at the same time it is asked for, and is paid for once.
func TestServerKeepsTheResultOfARun(t *testing.T) {
	c, o := served(t)
	l := newLedger(5)
	input := someWords(9)
	working(t, c, o, measure(l, 3))
	run := func(id string, words []string) (*sizes, error) {
		o := o
		o.ID = id
		return temporal.Run(t.Context(), c, measure(l, 3), &sizes{Words: words}, o)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			got, err := run("one", input.Words)
			if assert.NoError(t, err) {
				assert.Equal(t, input.want(), got.Sizes)
			}
		})
	}
	<-l.begun
	_, err := run("one", input.Words[1:])
	var differs *temporal.InputError
	require.ErrorAs(t, err, &differs, "the run is in progress")
	assert.Equal(t, "one", differs.ID)
	close(l.release)
	wg.Wait()

	got, err := run("one", input.Words)
	require.NoError(t, err)
	assert.Equal(t, input.want(), got.Sizes)
	_, err = run("one", input.Words[1:])
	require.ErrorAs(t, err, &differs)
	assert.Equal(t, input.once(), l.counts())
	assert.Len(t, left(t, &o), 1, "the result")

	forget := o
	forget.ID = "one"
	require.NoError(t, temporal.Forget(t.Context(), forget))
	assert.Empty(t, left(t, &o))
	_, err = run("one", input.Words)
	require.ErrorIs(t, err, temporal.ErrNotFound, "it is not paid for again")
	require.ErrorContains(t, err, `"one"`)
	assert.Equal(t, input.once(), l.counts())

	_, err = run("", input.Words)
	require.NoError(t, err)
	assert.Empty(t, left(t, &o), "a run without an ID cannot be asked for again")
}

// A run that has failed is started anew.
func TestServerStartsAFailedRunAnew(t *testing.T) {
	c, o := served(t)
	o.ID = "again"
	tries := 0 // of one worker, one after the other
	f := func() *flow.Flow[*sizes] {
		return flow.New("fails", node.Do("once", func(_ context.Context, s *sizes) error {
			if tries++; tries == 1 {
				return errors.New("a bad day")
			}
			s.Sizes = []int{tries}
			return nil
		}))
	}
	working(t, c, o, f())
	_, err := temporal.Run(t.Context(), c, f(), &sizes{}, o)
	require.ErrorContains(t, err, "a bad day")
	assert.Empty(t, left(t, &o))
	got, err := temporal.Run(t.Context(), c, f(), &sizes{}, o)
	require.NoError(t, err)
	assert.Equal(t, []int{2}, got.Sizes)
}
