package node_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// log keeps all events.
type log struct {
	mu     sync.Mutex
	events []event.Event
}

func (l *log) Observe(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *log) all() []event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]event.Event(nil), l.events...)
}

// items lists the events of items, as "done 3 1": index and attempts.
func (l *log) items() []string {
	var lines []string
	for _, e := range l.all() {
		if what, ok := strings.CutPrefix(string(e.Kind), "item."); ok {
			lines = append(lines, fmt.Sprint(what, " ", e.Index, " ", e.Attempt))
		}
	}
	return lines
}

func (l *log) kinds() []event.Kind {
	var kinds []event.Kind
	for _, e := range l.all() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestEventsOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events log
		ctx, cancel := context.WithCancel(event.With(t.Context(), &events))
		b := node.BatchFunc("b", feed(0, 1, 2, 3), func(ctx context.Context, i int) (int, error) {
			if err := work(ctx, time.Second); err != nil {
				return 0, err
			}
			switch i {
			case 1:
				return 0, errBoom
			case 2:
				cancel()
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return i, nil
		}, keep).WithRetry(retry.Policy{MaxAttempts: 2, Initial: 3 * time.Second, NoJitter: true}).
			WithKey(func(i int) string { return fmt.Sprint("k", i) }).WithGrace(0)
		began := time.Now()
		_, err := b.Run(ctx, &state{})
		require.ErrorIs(t, err, context.Canceled)

		at := began.Add
		got := events.all()
		require.Len(t, got, 6)
		last := &got[5]
		assert.Equal(t, err, last.Err, "the run's own error")
		last.Err = nil
		assert.Equal(t, []event.Event{
			{Kind: event.NodeStarted, Source: "b", Index: event.NoIndex, Time: began},
			{Kind: event.ItemDone, Source: "b", Index: 0, Key: "k0", Attempt: 1, Time: at(1e9), Wait: time.Second},
			{Kind: event.ItemRetry, Source: "b", Index: 1, Attempt: 1, Time: at(2e9), Wait: 3 * time.Second, Err: errBoom},
			{Kind: event.ItemFailed, Source: "b", Index: 1, Key: "k1", Attempt: 2, Time: at(6e9), Wait: 5 * time.Second, Err: errBoom},
			{Kind: event.ItemAbandoned, Source: "b", Index: 2, Key: "k2", Attempt: 1, Time: at(7e9), Wait: time.Second, Err: context.Canceled},
			{Kind: event.NodeFinished, Source: "b", Index: event.NoIndex, Time: at(7e9), Wait: 7 * time.Second},
		}, got)
	})
}

func TestNodeFinishedCarriesTheErrorOfTheRun(t *testing.T) {
	prepFails := func(context.Context, *state) (iter.Seq2[int, error], error) { return nil, errBoom }
	failing := func(context.Context, int) (int, error) { return 0, errBoom }
	for name, run := range map[string]func(ctx context.Context) error{
		"prep": func(ctx context.Context) error {
			_, err := node.BatchFunc("n", prepFails, same, nil).Run(ctx, &state{})
			return err
		},
		"post": func(ctx context.Context) error {
			_, err := node.BatchFunc("n", feed(1), failing, nil).Run(ctx, &state{})
			return err
		},
		"All": func(ctx context.Context) error {
			_, err := node.Map("n", failing).All(ctx, []int{1})
			return err
		},
		"Step": func(ctx context.Context) error {
			_, err := node.Do("n", func(context.Context, *state) error { return errBoom }).Run(ctx, &state{})
			return err
		},
		"a run that succeeds": func(ctx context.Context) error {
			_, err := node.BatchFunc("n", feed(1), failing, keep).Run(ctx, &state{})
			return err
		},
	} {
		var events log
		err := run(event.With(t.Context(), &events))
		got := events.all()
		assert.Equal(t, event.NodeStarted, got[0].Kind, name)
		last := got[len(got)-1]
		assert.Equal(t, event.NodeFinished, last.Kind, name)
		assert.Equal(t, err, last.Err, name)
	}
}

func TestEventsOfAStream(t *testing.T) {
	var events log
	ctx := event.With(t.Context(), &events)
	n := 0
	for range node.Map("m", same).WithWindow(1).Stream(ctx, node.Slice(numbers(3))) {
		n++
	}
	assert.Equal(t, 3, n)
	assert.Equal(t, []event.Kind{
		event.NodeStarted, event.ItemDone, event.ItemDone, event.ItemDone, event.NodeFinished,
	}, events.kinds())

	var left log
	for range node.Map("m", same).Stream(event.With(t.Context(), &left), (&endless{}).seq) {
		break
	}
	kinds := left.kinds()
	assert.Equal(t, event.NodeFinished, kinds[len(kinds)-1])
}

func TestEventsOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events log
		calls := 0
		step := node.Do("step", func(ctx context.Context, _ *state) error {
			if calls++; calls == 1 {
				return errBoom
			}
			return work(ctx, time.Second)
		}).WithRetry(retry.Policy{Initial: time.Second, NoJitter: true})
		began := time.Now()
		_, err := step.Run(event.With(t.Context(), &events), &state{})
		require.NoError(t, err)
		assert.Equal(t, []event.Event{
			{Kind: event.NodeStarted, Source: "step", Index: event.NoIndex, Time: began},
			{
				Kind: event.ItemRetry, Source: "step", Index: event.NoIndex, Attempt: 1,
				Time: began, Wait: time.Second, Err: errBoom,
			},
			{
				Kind: event.NodeFinished, Source: "step", Index: event.NoIndex,
				Time: began.Add(2 * time.Second), Wait: 2 * time.Second,
			},
		}, events.all())
	})
}

func TestObserverThatPanicsChangesNothing(t *testing.T) {
	observer := event.Func(func(event.Event) { panic("observer") })
	ctx := event.With(t.Context(), observer)
	out, err := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 1 {
			return 0, errBoom
		}
		return i, nil
	}).WithParallel(3).WithRetry(retry.Policy{MaxAttempts: 2, Initial: time.Nanosecond}).All(ctx, numbers(3))
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, []int{0, 0, 2}, out)
	_, err = node.Do("s", func(context.Context, *state) error { return nil }).Run(ctx, &state{})
	assert.NoError(t, err)
}
