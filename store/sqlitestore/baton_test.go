//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlitestore

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// After its turn, a process does not get the next one while another process waits.
func TestTurnsAreTakenInTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var all [3]*baton
	for i := range all {
		b, err := newBaton(path)
		require.NoError(t, err)
		b.patience = time.Hour
		all[i] = b
	}
	first, second, third := all[0], all[1], all[2]
	require.True(t, first.take())
	for range 100 {
		order := make(chan string, 2)
		var waits sync.WaitGroup
		waits.Go(func() {
			if second.take() {
				order <- "second"
				second.end()
			}
		})
		for free := true; free; { // until the second one waits
			var err error
			free, err = tryLock(third.next)
			require.NoError(t, err)
			if free {
				unlock(third.next)
			}
		}
		first.end()
		require.True(t, first.take())
		order <- "first"
		waits.Wait()
		assert.Equal(t, "second", <-order)
		assert.Equal(t, "first", <-order)
	}
	first.end()
	for _, b := range all {
		require.NoError(t, b.close())
	}
}
