package console

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// times records when the snapshots of a run are delivered.
type times struct{ at []time.Duration }

func (s *times) Observe(e event.Event) {
	if e.Kind == event.FlowProgress {
		s.at = append(s.at, e.Wait)
	}
}

func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		every  time.Duration // 0: there are no snapshots
	}{
		{"tty", Config{Mode: TTY}, 250 * time.Millisecond},
		{"plain", Config{Mode: Plain}, time.Second},
		{"json", Config{Mode: JSON}, time.Second},
		{"json, often", Config{Mode: JSON, Interval: 100 * time.Millisecond}, 100 * time.Millisecond},
		{"plain, seldom", Config{Mode: Plain, Interval: time.Minute}, time.Second},
		{"off", Config{Mode: Off}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out output
				var told times
				d := made(t, &out, c.config)
				words := node.BatchFunc("words",
					func(context.Context, node.None) (iter.Seq2[int, error], error) {
						return node.Slice(make([]int, 10)), nil
					},
					func(context.Context, int) (int, error) {
						time.Sleep(105 * time.Millisecond)
						return 0, errors.New("no word for it")
					}, nil)
				_, err := flow.Run(t.Context(), words, node.None{}, d.Watch(), flow.WithObserver(&told))
				require.Error(t, err)
				require.NoError(t, d.Close())
				var want []time.Duration
				for at := c.every; at < 1050*time.Millisecond && c.every > 0; at += c.every {
					want = append(want, at)
				}
				if c.every > 0 {
					want = append(want, 1050*time.Millisecond)
				}
				assert.Equal(t, want, told.at)
				assert.Equal(t, c.every > 0, strings.Contains(out.String(), "first failure: words, item 0"), "it observes too: %s", out.String())
			})
		})
	}
}

// A display outlives a run: what begins later is shown below, with or without snapshots.
func TestABatchAfterAFlowIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		step := node.Do("wait", func(context.Context, node.None) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		_, err := flow.Run(t.Context(), flow.New("first", step), node.None{}, d.Watch())
		require.NoError(t, err)
		batch, items := words(40) // fails one in ten
		_, err = batch.All(event.With(t.Context(), d), items)
		require.Error(t, err)
		require.NoError(t, d.Close())
		assert.Equal(t, 1, strings.Count(out.String(), "first: finished in 3.0s"))
		assert.Contains(t, out.String(), "words: first failure: words, item 9")
		assert.Contains(t, out.String(), "words: finished in 1.0s, 40 of 40 (100%), 4 failed")
	})
}

// The second run fails before its first snapshot.
func TestTheFirstFailureOfTheNextRunStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{Mode: TTY})
		for _, name := range []string{"first", "second"} {
			batch := node.BatchFunc(name,
				func(context.Context, node.None) (iter.Seq2[int, error], error) { return node.Slice([]int{1, 2}), nil },
				func(_ context.Context, i int) (int, error) {
					if i == 2 {
						time.Sleep(3 * time.Second)
						return i, nil
					}
					return 0, errors.New("lost in the " + name)
				}, nil)
			_, err := flow.Run(t.Context(), batch, node.None{}, d.Watch())
			require.Error(t, err)
		}
		require.NoError(t, d.Close())
		last := out.String()[strings.LastIndex(out.String(), beginFrame):]
		assert.Contains(t, last, "first failure: second, item 0: lost in the second")
	})
}

// What tells of a run may come by a queue, after its end was seen.
func TestLateEventsBeginNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		end := stage(4*time.Second, 100)
		end.Final = true
		d.Show(end)
		d.Observe(event.Event{Kind: event.NodeStarted, Source: "late", Time: day.Add(time.Second)})
		d.Observe(event.Event{Kind: event.ItemDone, Source: "late", Time: day.Add(2 * time.Second)})
		d.Observe(event.Event{Kind: event.FlowProgress, Progress: &end})
		d.Observe(event.Event{Kind: event.NodeStarted, Source: "next", Time: day.Add(4 * time.Second)})
		d.Observe(event.Event{Kind: event.FlowProgress, Progress: &end})
		d.Observe(event.Event{Kind: event.NodeFinished, Source: "next", Time: day.Add(6 * time.Second)})
		require.NoError(t, d.Close())
		assert.Equal(t, "digest: finished in 4.0s, 100 of 100 (100%), 25.0/s on average\nnext: finished in 2.0s\n", out.String())
	})
}
