package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

func TestARunThatResumesOldResultsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.NewMemory()
		var told []event.Event
		run := func(items ...int) *flow.Report {
			s := &state{}
			b := node.BatchFunc("b", feed(items...), same, keep).WithJournal(j)
			r, err := flow.Run[*state](t.Context(), b, s, flow.WithObserver(event.Func(func(e event.Event) {
				if e.Kind == event.JournalStale {
					told = append(told, e)
				}
			})))
			require.NoError(t, err)
			assert.Equal(t, r.Nodes["b"].Stale, s.report.Stale())
			return r
		}
		run(1, 2)
		time.Sleep(time.Hour)
		run(1, 2, 3)
		time.Sleep(23 * time.Hour)
		assert.Zero(t, run(1, 2, 3).Nodes["b"].Stale, "a day is not older than a day")
		assert.Empty(t, told)
		time.Sleep(30 * time.Minute)
		assert.Equal(t, int64(2), run(1, 2, 3, 4).Nodes["b"].Stale)
		require.Len(t, told, 1)
		assert.Equal(t, "b", told[0].Source)
		assert.Equal(t, 2.0, told[0].To)
		assert.Equal(t, 24*time.Hour+30*time.Minute, told[0].Wait)
		assert.Contains(t, told[0].Reason, `2 results of run "default", node "b", were resumed although they are older than a day, the oldest from `)
	})
}
