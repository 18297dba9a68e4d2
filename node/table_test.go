package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
)

func TestASlowItemOfASliceHoldsNoOtherBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := make([]int, 200)
		for i := range items {
			items[i] = i
		}
		began, ended := time.Now(), make([]time.Duration, len(items))
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			switch {
			case i == 100: // after many that took no time
				time.Sleep(time.Hour)
			case i > 100:
				time.Sleep(time.Second)
			}
			ended[i] = time.Since(began)
			return i, nil
		}).WithParallel(2)
		outs, err := m.All(t.Context(), items)
		require.NoError(t, err)
		assert.Equal(t, items, outs)
		for i := 101; i < len(items); i++ {
			assert.Equal(t, time.Duration(i-100)*time.Second, ended[i], "item %d", i)
		}
	})
}
