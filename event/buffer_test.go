package event_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
)

// valve is an observer that lets events through only when it is opened.
type valve struct {
	open chan struct{}
	mu   sync.Mutex // guards got
	got  []int64
}

func newValve() *valve { return &valve{open: make(chan struct{})} }

func (v *valve) Observe(e event.Event) {
	<-v.open
	v.mu.Lock()
	defer v.mu.Unlock()
	v.got = append(v.got, e.Index)
}

func (v *valve) seen() []int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]int64(nil), v.got...)
}

func mustBuffer(t *testing.T, capacity int, to event.Observer) *event.Buffer {
	t.Helper()
	b, err := event.NewBuffer(capacity, to)
	require.NoError(t, err)
	return b
}

func TestNewBufferNamesEveryProblem(t *testing.T) {
	_, err := event.NewBuffer(-1, nil)
	require.Error(t, err)
	assert.ErrorContains(t, err, "event.NewBuffer: capacity: -1 events")
	assert.ErrorContains(t, err, "event.NewBuffer: to: nil")
	var field *fault.FieldError
	require.True(t, errors.As(err, &field))
	assert.Equal(t, "capacity", field.Field)

	_, err = event.NewBuffer(1<<20+1, newValve())
	assert.ErrorContains(t, err, "capacity: 1048577 events")
}

func TestBufferDropsAndCountsWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		b := mustBuffer(t, 3, v)
		b.Observe(event.Event{Index: 0})
		synctest.Wait() // event 0 is with the observer, which does not return

		for i := range int64(5) { // returns although nothing is taken: three fit
			b.Observe(event.Event{Index: i + 1})
		}
		assert.EqualValues(t, 2, b.Dropped())

		close(v.open)
		b.Close()
		assert.Equal(t, []int64{0, 1, 2, 3}, v.seen())
		assert.EqualValues(t, 2, b.Dropped())
	})
}

func TestBufferZeroCapacityIsTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		b := mustBuffer(t, 0, v)
		b.Observe(event.Event{})
		synctest.Wait()
		for range 1024 {
			b.Observe(event.Event{})
		}
		assert.Zero(t, b.Dropped())
		b.Observe(event.Event{})
		assert.EqualValues(t, 1, b.Dropped())
		close(v.open)
		b.Close()
	})
}

func TestBufferCloseDrainsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		b := mustBuffer(t, 10, v)
		for i := range int64(3) {
			b.Observe(event.Event{Index: i})
		}
		var returned atomic.Int32
		for range 2 { // the second call waits as the first does
			go func() { b.Close(); returned.Add(1) }()
		}
		synctest.Wait()
		assert.Zero(t, returned.Load(), "Close returned before everything was delivered")

		b.Observe(event.Event{Index: 99})
		assert.EqualValues(t, 1, b.Dropped(), "the intake stops with Close")

		close(v.open)
		synctest.Wait()
		assert.EqualValues(t, 2, returned.Load())
		assert.Equal(t, []int64{0, 1, 2}, v.seen())
	})
}

func TestBufferAfterClose(t *testing.T) {
	var told int
	b := mustBuffer(t, 1, event.Func(func(event.Event) { told++ }))
	b.Close()
	b.Close()
	b.Observe(event.Event{})
	assert.EqualValues(t, 1, b.Dropped())
	b.Close()
	assert.Zero(t, told)
}

func TestBufferOutlivesAPanickingObserver(t *testing.T) {
	var got []int64
	b := mustBuffer(t, 10, event.Func(func(e event.Event) {
		if e.Index%2 == 0 {
			panic("observer")
		}
		got = append(got, e.Index)
	}))
	for i := range int64(6) {
		b.Observe(event.Event{Index: i})
	}
	b.Close()
	assert.Equal(t, []int64{1, 3, 5}, got)
	assert.Zero(t, b.Dropped())
}

func TestBufferCountsWhatAnExitingObserverLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		b := mustBuffer(t, 10, event.Func(func(event.Event) { <-ready; runtime.Goexit() }))
		for range 4 {
			b.Observe(event.Event{})
		}
		close(ready)
		synctest.Wait()
		assert.EqualValues(t, 3, b.Dropped(), "the three that waited behind the first")
		b.Observe(event.Event{})
		assert.EqualValues(t, 4, b.Dropped())
		b.Close()
	})
}

// An observer that emits into the buffer it hangs on must not lock itself out.
func TestBufferMayBeObservedByItsObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *event.Buffer
		var got []int64
		ready := make(chan struct{})
		b = mustBuffer(t, 1, event.Func(func(e event.Event) {
			<-ready
			got = append(got, e.Index)
			if e.Index < 3 {
				b.Observe(event.Event{Index: e.Index + 1})
			}
		}))
		b.Observe(event.Event{Index: 0})
		close(ready)
		synctest.Wait()
		b.Close()
		assert.Equal(t, []int64{0, 1, 2, 3}, got)
	})
}

func TestBufferLosesNothingUncounted(t *testing.T) {
	const writers, each = 8, 500
	last := make(map[string]int64)
	var delivered int64 // the buffer promises one goroutine and Close waits for it: no lock
	b := mustBuffer(t, 16, event.Func(func(e event.Event) {
		delivered++
		if before, ok := last[e.Source]; ok && before >= e.Index {
			t.Errorf("writer %s: %d after %d", e.Source, e.Index, before)
		}
		last[e.Source] = e.Index
	}))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range int64(each) {
				b.Observe(event.Event{Source: string(rune('a' + w)), Index: i})
			}
		})
	}
	wg.Go(b.Close) // somewhere in the middle
	wg.Wait()
	b.Close()
	assert.EqualValues(t, writers*each, delivered+b.Dropped())
}
