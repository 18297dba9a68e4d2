package node

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The loop is woken by the result that it waits for, and takes those behind it along. However the ends of items fall
// between its looks, every result is delivered, in order if that is asked for.
func TestALineLosesNoResult(t *testing.T) {
	for name, unordered := range map[string]bool{"in order": false, "as they finish": true} {
		t.Run(name, func(t *testing.T) {
			const items, workers, window = 2000, 4, 6
			l := newLine[int, int](window, unordered)
			begun, over := make(chan int64), make(chan struct{})
			go func() {
				defer close(begun)
				for i := range int64(items) {
					if !l.reserve(t.Context()) {
						return
					}
					l.begin(&item[int]{index: i})
					begun <- i
				}
			}()
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range begun {
						if (i+int64(w))%3 == 0 {
							runtime.Gosched()
						}
						assert.True(t, l.end(&Result[int, int]{Index: i, State: Done}))
					}
				})
			}
			go func() {
				wg.Wait()
				close(over)
			}()
			var seen []int64
			require.True(t, l.deliver(over, func(r Result[int, int]) bool {
				seen = append(seen, r.Index)
				return true
			}))
			if unordered {
				slices.Sort(seen)
			}
			require.Len(t, seen, items)
			assert.True(t, slices.IsSorted(seen))
			assert.Empty(t, l.room)
		})
	}
}
