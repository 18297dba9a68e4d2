package sqlitestore

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counter counts transactions.
type counter struct{ begun, committed atomic.Int64 }

func (*counter) waiting() bool      { return false }
func (c *counter) write(*tx) error  { c.begun.Add(1); return nil }
func (*counter) writeAll(*tx) error { return nil }
func (c *counter) ended(ok bool) {
	if ok {
		c.committed.Add(1)
	}
}

// While one transaction is open 64 calls come. Those that it does not take need one more.
func TestCallsAreCommittedTogether(t *testing.T) {
	f, err := openFile(filepath.Join(t.TempDir(), "f.db"), nil)
	require.NoError(t, err)
	var transactions counter
	w := newWriter(f, &transactions, func() {})
	inside, goOn := make(chan struct{}), make(chan struct{})
	errs := make(chan error)
	call := func(do func(*tx) error) {
		require.NoError(t, w.enter(t.Context()))
		go func() {
			defer w.leave()
			errs <- w.commit(t.Context(), do)
		}()
	}
	call(func(*tx) error {
		close(inside)
		<-goOn
		return nil
	})
	<-inside
	order := 0
	for range 64 { // as many as the queue holds, so that they are all there
		call(func(*tx) error { order++; return nil })
	}
	for len(w.queue) < 64 {
		continue
	}
	close(goOn)
	for range 65 {
		require.NoError(t, <-errs)
	}
	assert.Equal(t, 64, order)
	assert.LessOrEqual(t, transactions.committed.Load(), int64(3))
	assert.GreaterOrEqual(t, transactions.committed.Load(), int64(2))
	_, err = w.close()
	require.NoError(t, err)
	require.NoError(t, f.close())
}
