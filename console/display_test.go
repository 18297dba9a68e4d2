package console

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

func made(t *testing.T, w io.Writer, c Config) *Display {
	t.Helper()
	c.Output, c.LookupEnv = w, modern
	d, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// words is a batch of so many items, of which each takes a tenth of a second, and
// every tenth fails.
func words(n int) (*node.Batch[node.None, int, int], []int) {
	b := node.Map("words", func(ctx context.Context, i int) (int, error) {
		time.Sleep(100 * time.Millisecond)
		if i%10 == 9 {
			return 0, errors.New("no \x1b[31mword\nfor it")
		}
		return i, nil
	})
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return b.WithParallel(4), items
}

func TestPlainOverAFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		require.Equal(t, Plain, d.Mode(), "a buffer is no terminal")
		step := node.Do("wait", func(context.Context, node.None) error {
			time.Sleep(100 * time.Second)
			return nil
		})
		_, err := flow.Run(t.Context(), flow.New("patience", step), node.None{}, flow.WithProgress(d.Show, 0), flow.WithObserver(d))
		require.NoError(t, err)
		golden(t, "plain-flow.txt", out.String())
		require.NoError(t, d.Close())
		golden(t, "plain-flow.txt", out.String())
	})
}

func TestPlainOverABatch(t *testing.T) {
	for name, how := range map[string]struct {
		config Config
		log    bool
	}{
		"plain-batch.txt":    {},
		"plain-interval.txt": {config: Config{Interval: 20 * time.Second}, log: true},
		"json-batch.txt":     {config: Config{Mode: JSON, Interval: 20 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out output
				d := made(t, &out, how.config)
				b, items := words(2000)
				time.Sleep(50 * time.Millisecond) // so that no item ends when the display looks
				_, err := b.All(event.With(t.Context(), d), items)
				require.Error(t, err)
				if how.log {
					_, _ = io.WriteString(d.Writer(), "half a line")
				}
				time.Sleep(time.Hour) // it ended before
				require.NoError(t, d.Close())
				golden(t, name, out.String())
				require.NotContains(t, out.String(), "\x1b")
			})
		})
	}
}

func TestOneRunIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		show := func(name string, at time.Duration, final bool) {
			p := stage(at, 50)
			p.Name, p.Final = name, final
			d.Show(p)
			p2 := p
			d.Observe(event.Event{Kind: event.FlowProgress, Progress: &p2})
			synctest.Wait()
		}
		show("outer", time.Second, false)
		show("inner", time.Second, false)
		show("inner", 2*time.Second, true)
		show("outer", 5*time.Second, true)
		show("outer", 4*time.Second, false) // came late
		show("next", 6*time.Second, false)
		show("next", 7*time.Second, true)
		require.NoError(t, d.Close())
		var heads []string
		for line := range strings.Lines(out.String()) {
			head, _, _ := strings.Cut(line, ",")
			heads = append(heads, strings.TrimSpace(head))
		}
		assert.Equal(t, []string{
			"outer: 50 of 100 (50%) after 1s", "outer: stopped in 5.0s", "next: 50 of 100 (50%) after 6s", "next: stopped in 7.0s",
		}, heads)
	})
}

func TestNoEndIsLost(t *testing.T) {
	f := newFollower()
	for i, name := range []string{"a", "b"} {
		p := stage(time.Duration(i)*time.Second, 1)
		p.Name, p.Final = name, true
		require.True(t, f.show(&p))
	}
	n, more := f.take(day, false)
	assert.Equal(t, "a", n.Name)
	assert.True(t, more)
	n, more = f.take(day, false)
	assert.Equal(t, "b", n.Name)
	assert.True(t, n.fresh)
	assert.False(t, more)
}

func TestNotesComeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		tell := func() {
			d.Observe(event.Event{Kind: event.ItemFailed, Source: "ask", Index: 17, Attempt: 3, Err: errors.New("status 401")})
			d.Observe(event.Event{Kind: event.LimiterClosed, Source: "key", Index: event.NoIndex, Reason: "quota exhausted", Err: errors.New("no money")})
		}
		tell()
		for i := range 5 {
			p := stage(time.Duration(i+1)*time.Second, 0)
			p.Limiters = []event.LimiterProgress{{Name: "key", Closed: true}, {Name: "other", Closed: i > 2, Why: "gone"}}
			d.Show(p)
			tell()
			synctest.Wait()
		}
		assert.Equal(t, 1, strings.Count(out.String(), "digest: first failure: ask, item 17, after 3 attempts: status 401\n"))
		assert.Equal(t, 1, strings.Count(out.String(), "digest: limiter key is closed: quota exhausted: no money\n"))
		assert.Equal(t, 1, strings.Count(out.String(), "limiter key is closed"))
		assert.Equal(t, 1, strings.Count(out.String(), "digest: limiter other is closed: gone\n"))
	})
}

type badError struct{}

func (badError) Error() string { panic("no text") }

func TestAnErrorWithoutText(t *testing.T) {
	assert.Equal(t, "ask, item 1: an error whose text cannot be had", failure(event.Event{Source: "ask", Index: 1, Err: badError{}}))
}

func TestOff(t *testing.T) {
	var out output
	d := made(t, &out, Config{Mode: Off})
	d.Show(*over())
	d.Observe(event.Event{Kind: event.NodeStarted})
	require.Nil(t, d.ItemCounter("ask"))
	require.Empty(t, out.String())
	_, err := io.WriteString(d.Writer(), "a log, half")
	require.NoError(t, err)
	require.Equal(t, "a log, half", out.String())
	require.NoError(t, d.Close())
}

// A frame is drawn at most ten times a second, only when something changes, and the clock goes on.
func TestFramesAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w frames
		d := made(t, &w, Config{Mode: TTY, Size: func() (int, int) { return 80, 24 }})
		time.Sleep(500 * time.Microsecond) // so that nothing is shown when a frame is due
		for i := range 1000 {
			d.Show(stage(time.Duration(i)*time.Millisecond, int64(i)/10))
			time.Sleep(time.Millisecond)
		}
		n := w.len()
		assert.Equal(t, 10, n)
		time.Sleep(10 * time.Second)
		assert.Equal(t, n+10, w.len(), "once a second, for the clock")
		p := stage(12*time.Second, 100)
		p.Final = true
		d.Show(p)
		assert.Equal(t, n+11, w.len(), "the last one can be seen when Show returns")
		d.Show(p)
		time.Sleep(time.Second)
		require.NoError(t, d.Close())
		assert.Equal(t, n+11, w.len(), "and it comes once")
		for _, frame := range w.all {
			assert.Equal(t, strings.Count(frame, "\x1b[?25l"), strings.Count(frame, "\x1b[?25h"))
			assert.True(t, strings.HasSuffix(frame, endFrame))
		}
	})
}

// frames keeps each write.
type frames struct {
	mu  sync.Mutex // guards all
	all []string
}

func (f *frames) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, string(p))
	return len(p), nil
}

func (f *frames) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

func TestWriter(t *testing.T) {
	var out output
	d := made(t, &out, Config{})
	w := d.Writer()
	for _, s := range []string{"one\ntw", "o", "\nthree"} {
		n, err := io.WriteString(w, s)
		require.NoError(t, err)
		require.Equal(t, len(s), n)
	}
	require.Equal(t, "one\ntwo\n", out.String())
	_, err := io.WriteString(w, strings.Repeat("x", mostPending))
	require.NoError(t, err)
	require.Len(t, out.String(), len("one\ntwo\nthree\n")+mostPending, "memory is bounded")
	_, _ = io.WriteString(w, "rest")
	require.NoError(t, d.Close())
	require.True(t, strings.HasSuffix(out.String(), "x\nrest\n"))
	_, err = io.WriteString(w, "after")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(out.String(), "rest\nafter"))
}

// An output that takes nothing costs the work nothing, and the end two seconds.
func TestAStalledOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		d, err := New(Config{Output: w, LookupEnv: modern, Mode: Plain})
		require.NoError(t, err)
		begin := time.Now()
		for i := range 100 {
			d.Show(stage(time.Duration(i)*time.Second, 1))
			d.Observe(event.Event{Kind: event.ItemDone, Source: "ask"})
		}
		require.Zero(t, time.Since(begin))
		p := stage(time.Hour, 1)
		p.Final = true
		d.Show(p)
		require.Equal(t, patience, time.Since(begin))
		require.ErrorIs(t, d.Close(), ErrStalled)
		require.Equal(t, 2*patience, time.Since(begin))
		require.NoError(t, r.Close())
		synctest.Wait() // the goroutine ends
		require.ErrorIs(t, d.Close(), io.ErrClosedPipe)
	})
}

func TestAClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = w.Close() }()
	require.NoError(t, r.Close())
	d := made(t, w, Config{Mode: JSON})
	p := stage(time.Second, 1)
	p.Final = true
	d.Show(p)
	d.Show(p)
	require.Error(t, d.Close())
	require.Error(t, d.Close(), "it says so again")
	_, err = io.WriteString(d.Writer(), "log\n")
	require.Error(t, err)
}

func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{Mode: TTY})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 100 {
					d.Show(stage(time.Duration(j)*time.Second, int64(i)))
					d.Observe(event.Event{Kind: event.ItemDone, Source: "ask"})
					if n := d.ItemCounter("ask"); n != nil {
						n.Add(1)
					}
					_, _ = io.WriteString(d.Writer(), "log\n")
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		require.NoError(t, d.Close())
		require.Equal(t, 800, strings.Count(out.String(), "log\n"))
	})
}

// Closed without an end, as by a panic: what is known stays.
func TestClosedTooSoon(t *testing.T) {
	for _, m := range []Mode{Plain, TTY} {
		synctest.Test(t, func(t *testing.T) {
			var out output
			d := made(t, &out, Config{Mode: m})
			p := stage(time.Second, 7)
			d.Show(p)
			synctest.Wait()
			d.Show(stage(1500*time.Millisecond, 8)) // no line is due
			require.NoError(t, d.Close())
			require.Contains(t, out.String(), "8", m)
			require.True(t, strings.HasSuffix(out.String(), "\n") || strings.HasSuffix(out.String(), endFrame))
			d.Show(*over())
			d.Observe(event.Event{Kind: event.FlowProgress, Progress: over()})
		})
	}
}

func TestTheNextRunHasItsOwnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{})
		for i := range 2 {
			p := stage(time.Duration(2*i+1)*time.Second, 0)
			d.Show(p)
			d.Observe(event.Event{Kind: event.ItemFailed, Source: "ask", Index: int64(i)})
			p = stage(time.Duration(2*i+2)*time.Second, 0)
			p.Final = true
			d.Show(p)
		}
		assert.Equal(t, 1, strings.Count(out.String(), "first failure: ask, item 0"))
		assert.Equal(t, 1, strings.Count(out.String(), "first failure: ask, item 1"))
	})
}

// broken fails once.
type broken struct{ writes int }

func (b *broken) Write(p []byte) (int, error) {
	b.writes++
	if b.writes == 1 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestABrokenOutputIsLeftAlone(t *testing.T) {
	var w broken
	d := made(t, &w, Config{})
	_, err := io.WriteString(d.Writer(), "log\n")
	require.ErrorIs(t, err, io.ErrShortWrite)
	_, err = io.WriteString(d.Writer(), "log\n")
	require.ErrorIs(t, err, io.ErrShortWrite)
	d.Show(*over())
	require.ErrorIs(t, d.Close(), io.ErrShortWrite)
	_, err = io.WriteString(d.Writer(), "log\n")
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.Equal(t, 1, w.writes)
}

// What is counted stands still while nothing runs.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		d := made(t, &out, Config{Mode: JSON})
		b, items := words(1)
		_, err := b.All(event.With(t.Context(), d), items)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, strings.Count(out.String(), "\n"))
		_, err = b.All(event.With(t.Context(), d), items)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		assert.Contains(t, out.String(), `"final":true,"items":{"total":2,"pending":0,"done":2`)
	})
}

// A node that runs inside another one counts in that one's items only.
func TestNodesInsideOthersAreCountedOnce(t *testing.T) {
	c := newCounter()
	tell := func(kind event.Kind, node string) {
		c.observe(event.Event{Time: day, Kind: kind, Source: node, To: 3})
	}
	tell(event.NodeStarted, "sections")
	tell(event.NodeInput, "sections")
	tell(event.NodeStarted, "ask")
	tell(event.NodeInput, "ask")
	tell(event.ItemDone, "ask")
	tell(event.ItemRetry, "ask")
	tell(event.NodeFinished, "ask")
	tell(event.LimiterHit, "key")
	tell(event.LimiterCut, "key")
	p := c.snapshot(day.Add(time.Second), false)
	assert.Equal(t, event.Items{Total: 3}, p.Items)
	assert.Equal(t, event.Items{Total: 3, Done: 1, Retries: 1}, p.Nodes[1].Items)
	assert.Equal(t, []event.LimiterProgress{{Name: "key", Hits: 1, Cuts: 1}}, p.Limiters)
	tell(event.NodeFinished, "sections")
	tell(event.NodeStarted, "embed")
	tell(event.NodeInput, "embed")
	assert.EqualValues(t, 6, c.snapshot(day.Add(time.Second), false).Items.Total, "one after the other add up")
}
