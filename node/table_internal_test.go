package node

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tabled returns a table of items of which taken have been taken.
func tabled(taken int, items ...int) *table[int, int] {
	rows := newTable[int, int](false, items)
	t := &table[int, int]{Report: &Report[int, int]{results: rows}, rows: rows, feed: feed[int]{begin: func(*item[int]) {}, may: func() bool { return true }}}
	for range taken {
		_, _ = t.take(&item[int]{})
	}
	return t
}

func pending(res Result[int, int]) Result[int, int] {
	res.Out = -res.In
	return res
}

func TestTableTakesNoResultAfterItsEnd(t *testing.T) {
	tab := tabled(2, 1, 2, 3)
	assert.True(t, tab.end(&Result[int, int]{Index: 0, Out: 10, State: Done}))
	tab.close(pending)
	assert.False(t, tab.end(&Result[int, int]{Index: 1, Out: 20, State: Done}))
	assert.Equal(t, []int{10, -2}, tab.Values(), "an item that was not taken is not in the report")
	assert.Equal(t, Counts{Total: 2, Done: 1, Pending: 1}, tab.Counts())
	ok, err := tab.take(&item[int]{})
	assert.NoError(t, err)
	assert.False(t, ok)
}

func TestTableWaitsForTheResultThatIsBeingWritten(t *testing.T) {
	tab := tabled(2, 1, 2)
	assert.True(t, tab.rows.claim(1))
	tab.close(func(res Result[int, int]) Result[int, int] {
		go func() {
			for range 1000 {
				runtime.Gosched() // close would be over by then
			}
			tab.rows.set(&Result[int, int]{Index: 1, Out: 20, State: Done})
		}()
		return pending(res)
	})
	assert.Equal(t, []int{-1, 20}, tab.Values())
}
