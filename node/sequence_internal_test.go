package node

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// reader opens seq for so many workers. read holds the index of each item that was read.
func reader(intake context.Context, workers int, seq iter.Seq2[int, error]) (s *sequence[int], read *[]int64) {
	return readerWithin(intake, nil, workers, seq)
}

func readerWithin(intake context.Context, room roomy, workers int, seq iter.Seq2[int, error]) (s *sequence[int], read *[]int64) {
	read = new([]int64)
	src := pulled(seq)(feed[int]{
		begin: func(it *item[int]) { *read = append(*read, it.index) }, room: room, intake: intake,
		may: func() bool { return intake.Err() == nil }, workers: workers,
		reading: func() {}, read: func() {},
	})
	return src.(*sequence[int]), read
}

func counting(yield func(int, error) bool) {
	for i := 0; yield(i, nil); i++ {
	}
}

// nextOf is the next item, or -1.
func nextOf(s *sequence[int]) int {
	var it item[int]
	if ok, _ := s.take(&it); !ok {
		return -1
	}
	return it.in
}

func TestAnItemIsReadForAFreeWorkerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, read := reader(ctx, 2, counting)
		synctest.Wait()
		assert.Empty(t, *read)
		for i := range 5 {
			assert.Equal(t, i, nextOf(s))
			synctest.Wait() // the worker is busy
			assert.Len(t, *read, i+1)
		}
		cancel()
		synctest.Wait()
		assert.Equal(t, -1, nextOf(s))
		assert.False(t, s.exhausted())
	})
}

// A worker that is on its way may come too late for the item that woke it, and other workers take what was read meanwhile.
func TestWhatWasReadIsTakenAfterTheEndOfTheIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := reader(ctx, 3, counting)
		s.mu.Lock()
		s.free += 2 // two workers that do not come to it
		s.mu.Unlock()
		assert.Equal(t, 0, nextOf(s))
		synctest.Wait()
		assert.Equal(t, 2, s.queued)
		cancel()
		synctest.Wait()
		assert.Equal(t, []int{1, 2, -1}, []int{nextOf(s), nextOf(s), nextOf(s)})
	})
}

// Each worker that takes an item wakes another while there are more.
func TestAllWorkersAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 5
		begin := make(chan struct{})
		s, _ := reader(t.Context(), workers, func(yield func(int, error) bool) {
			<-begin
			for i := range workers {
				if !yield(i, nil) {
					return
				}
			}
		})
		busy := 0
		for range workers {
			go func() {
				if nextOf(s) >= 0 {
					s.mu.Lock()
					defer s.mu.Unlock()
					busy++
				}
			}()
		}
		synctest.Wait()
		close(begin)
		synctest.Wait()
		assert.Equal(t, workers, busy)
		assert.Equal(t, -1, nextOf(s))
		assert.True(t, s.exhausted())
	})
}

// reserving is room for which the reader waits.
type reserving func()

func (f reserving) reserve(context.Context) bool {
	f()
	return true
}

// A consumer makes room before it looks at a result, and may then end the run before the reader goes on.
func TestNothingIsReadIfTheIntakeEndsWhileTheReaderWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, read := readerWithin(ctx, reserving(cancel), 1, counting)
		assert.Equal(t, -1, nextOf(s))
		synctest.Wait()
		assert.Empty(t, *read)
		assert.False(t, s.exhausted())
	})
}

func TestStopWaitsForAnIteratorThatCleansUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := reader(ctx, 1, func(yield func(int, error) bool) {
			yield(0, nil)
			time.Sleep(time.Hour)
			panic("cleaned")
		})
		assert.Equal(t, 0, nextOf(s))
		cancel()
		synctest.Wait()
		began := time.Now()
		assert.ErrorContains(t, s.stop(), "cleaned")
		assert.Equal(t, time.Hour, time.Since(began))
		assert.False(t, s.exhausted())
	})
}
